// What lies over viser's page: state, e-stop, stick, keys.
(() => {
  'use strict';
  const HEADERS = {'X-Cnoid-View': '1'};
  const STATE_PERIOD = 200;  // [ms]
  const STICK_PERIOD = 100;  // [ms]
  const KEYS = {w: [0, 1], s: [0, -1], a: [1, 1], d: [1, -1], q: [2, 1], e: [2, -1]};
  const COLOURS = {
    running: '#2b8a3e', paused: '#b08900', ready: '#868e96', 'safe state': '#d9480f',
    'e-stop': '#c92a2a', ended: '#343a40',
  };

  const style = document.createElement('style');
  style.textContent = `
    #cnoid-bar { position: fixed; left: 8px; bottom: 8px; z-index: 100000; display: flex;
      gap: 8px; align-items: center; font: 14px system-ui, sans-serif; max-width: 96vw;
      pointer-events: none; }
    #cnoid-bar > * { pointer-events: auto; }
    #cnoid-estop { min-width: 84px; height: 84px; border-radius: 50%; border: 6px solid #ffd43b;
      background: #c92a2a; color: white; font: bold 15px system-ui, sans-serif; cursor: pointer;
      touch-action: manipulation; flex: none; }
    #cnoid-estop:active { background: #7d1a1a; }
    #cnoid-state { color: white; background: #868e96; border-radius: 6px; padding: 6px 10px;
      max-width: 46vw; overflow-wrap: anywhere; }
    #cnoid-state small { display: block; opacity: 0.9; }
    #cnoid-stick { position: relative; width: 96px; height: 96px; border-radius: 50%; flex: none;
      background: rgba(134, 142, 150, 0.35); border: 2px solid rgba(52, 58, 64, 0.5);
      touch-action: none; user-select: none; }
    #cnoid-knob { position: absolute; left: 30px; top: 30px; width: 32px; height: 32px;
      border-radius: 50%; background: #1971c2; pointer-events: none; }
    #cnoid-yaw { width: 96px; position: absolute; left: 0; top: -22px; margin: 0;
      touch-action: none; }
    @media (max-width: 640px) {
      /* Below, the panel of viser comes up. */
      #cnoid-bar { top: 8px; bottom: auto; align-items: flex-start; }
      #cnoid-estop { min-width: 72px; height: 72px; border-width: 4px; font-size: 13px; }
      #cnoid-stick { margin-top: 24px; }
    }
    #cnoid-bar [hidden] { display: none !important; }`;

  const bar = document.createElement('div');
  bar.id = 'cnoid-bar';
  bar.innerHTML = `
    <button id="cnoid-estop" hidden title="emergency stop; also the space bar">E-STOP</button>
    <div id="cnoid-stick" hidden title="velocity; also the keys w a s d, q e to turn">
      <input id="cnoid-yaw" type="range" min="-1" max="1" step="0.05" value="0" title="turn">
      <div id="cnoid-knob"></div>
    </div>
    <div id="cnoid-state"><b id="cnoid-word">…</b><small id="cnoid-more"></small></div>`;

  const find = (name) => bar.querySelector('#cnoid-' + name);

  const act = async (action, values) => {
    const query = new URLSearchParams({action, arguments: JSON.stringify(values || {})});
    try {
      const answer = await fetch('/view/act?' + query, {headers: HEADERS});
      const result = await answer.json();
      if (!result.done) { say(action + ': ' + result.text); }
      return result.done;
    } catch (error) {
      say(action + ': the page is not connected');
      return false;
    }
  };

  // --- state ----------------------------------------------------------------------------------
  let mayAct = false;
  let mayDrive = false;
  let said = '';
  let saidUntil = 0;
  const say = (text) => { said = text; saidUntil = Date.now() + 6000; };

  const show = (state) => {
    mayAct = state.act && !('estop' in state.refusals);
    mayDrive = state.act && !('velocity' in state.refusals);
    find('estop').hidden = !mayAct;
    find('stick').hidden = !mayDrive;
    const word = state.state || 'waiting';
    const old = state.age > 2 && !['paused', 'ended', 'ready'].includes(word);
    find('word').textContent = word + (state.reason ? ': ' + state.reason : '');
    const parts = [state.title, state.controller];
    if (state.time !== undefined) { parts.push(state.time.toFixed(2) + ' s'); }
    if (!state.act) { parts.push('read only'); }
    if (old) { parts.push('nothing new for ' + state.age.toFixed(0) + ' s'); }
    if (Date.now() < saidUntil) { parts.push(said); }
    find('more').textContent = parts.filter(Boolean).join(' · ');
    find('state').style.background = old ? '#868e96' : COLOURS[word] || '#868e96';
    bar.dataset.state = word;
    if (state.title) { document.title = state.title; }
  };

  const poll = async () => {
    try {
      const answer = await fetch('/view/state', {headers: HEADERS});
      show(await answer.json());
    } catch (error) {
      find('word').textContent = 'not connected';
      find('more').textContent = 'the program that served this page has ended';
      find('state').style.background = '#343a40';
      bar.dataset.state = 'not connected';
    }
    setTimeout(poll, STATE_PERIOD);
  };

  // --- e-stop ---------------------------------------------------------------------------------
  const estop = () => { if (mayAct) { act('estop'); } };

  // --- stick ----------------------------------------------------------------------------------
  const stick = [0, 0, 0];
  const held = new Set();
  let driving = false;
  const clip = (value) => Math.max(-1, Math.min(1, value));

  const drive = () => {
    const total = [...stick];
    for (const key of held) { const [axis, sign] = KEYS[key]; total[axis] += sign; }
    const [x, y, yaw] = total.map(clip);
    const out = x !== 0 || y !== 0 || yaw !== 0;
    // Once more when it is let go, so that the robot stops at once.
    if (mayDrive && (out || driving)) { act('velocity', {x, y, yaw}); }
    driving = out;
  };

  const knob = (x, y) => {
    stick[0] = clip(x);
    stick[1] = clip(y);
    find('knob').style.left = 30 - 30 * stick[1] + 'px';
    find('knob').style.top = 30 - 30 * stick[0] + 'px';
  };

  const follow = (event) => {
    const box = find('stick').getBoundingClientRect();
    const radius = box.width / 2;
    knob((box.top + radius - event.clientY) / radius, (box.left + radius - event.clientX) / radius);
  };

  // --- beginning ------------------------------------------------------------------------------
  const isTyping = (target) =>
    target && (target.isContentEditable || (['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName)
      && !['range', 'checkbox', 'button'].includes(target.type)));

  const begin = () => {
    document.head.append(style);
    document.body.append(bar);
    find('estop').addEventListener('click', estop);
    const pad = find('stick');
    pad.addEventListener('pointerdown', (event) => {
      if (event.target === find('yaw')) { return; }
      pad.setPointerCapture(event.pointerId);
      follow(event);
    });
    pad.addEventListener('pointermove', (event) => {
      if (pad.hasPointerCapture(event.pointerId)) { follow(event); }
    });
    for (const name of ['pointerup', 'pointercancel']) {
      pad.addEventListener(name, () => knob(0, 0));
    }
    const yaw = find('yaw');
    yaw.addEventListener('input', () => { stick[2] = -Number(yaw.value); });
    for (const name of ['pointerup', 'pointercancel', 'change']) {
      yaw.addEventListener(name, () => { yaw.value = 0; stick[2] = 0; });
    }
    // Before viser's own keys, whatever has the focus.
    window.addEventListener('keydown', (event) => {
      if (isTyping(event.target) || event.ctrlKey || event.altKey || event.metaKey) { return; }
      if (event.code === 'Space') {
        event.preventDefault();
        event.stopImmediatePropagation();
        if (!event.repeat) { estop(); }
        return;
      }
      const key = event.key.toLowerCase();
      if (mayDrive && key in KEYS) {
        event.stopImmediatePropagation();
        held.add(key);
      }
    }, true);
    window.addEventListener('keyup', (event) => held.delete(event.key.toLowerCase()), true);
    window.addEventListener('blur', () => held.clear());
    setInterval(drive, STICK_PERIOD);
    poll();
  };

  if (document.body) { begin(); } else { document.addEventListener('DOMContentLoaded', begin); }
})();
