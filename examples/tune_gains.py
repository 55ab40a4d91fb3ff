"""Which gains are best? A search by Optuna, and a configuration file with what it found."""

from cnoid_control import run, tune

VARY = {'pd.kp_of.wrist': '5..200:log', 'pd.kp_of.joint7': '1..50:log'}

if __name__ == '__main__':
    # An arm moves to a posture with a hand that is pulled; what the configuration has is tried
    # first.
    found = tune(
        'pd',
        VARY,
        minimize='max_joint_error',
        subject_to='limited<=0',
        randomize={'push.one': {'link': 'hand', 'force.y': 20.0, 'time': 0.3, 'duration': 0.5}},
        runs=1,
        trials=15,
        duration=1.0,
        seed=1,
    )
    before, after = found.baseline.values[0], found.best.score.values[0]
    print(f'{len(found.trials)} trials; the best has {found.best.values}')
    print(f'the largest error was {before:.4f} rad and is {after:.4f} rad')
    found.save('tuned.yaml')
    print('tuned.yaml runs as it is:', run('tuned.yaml', duration=1.0).summary()['exit'])
