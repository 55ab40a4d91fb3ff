"""Push SR1 harder and harder until it falls, and draw the last run in which it stood."""

from cnoid_control import Simulation

if __name__ == '__main__':
    simulation = Simulation('sr1_pd')
    stood = 0.0
    for force in range(200, 4000, 200):
        # The same start each time, to the bit.
        simulation.reset()
        simulation.run(0.5)
        simulation.push('WAIST', [float(force), 0.0, 0.0], duration=0.1)
        summary = simulation.run(4.0)
        print(f'{force:4d} N for 0.1 s: tilt {summary["max_tilt_deg"]:5.1f} degrees')
        if summary['fell'] or summary['exit'] == 'failed':
            break
        stood = float(force)
        figure = simulation.recorded.plot('root_q', 'LeftAnkleForceSensor', 'q')
    simulation.close()
    figure.savefig('push.png', dpi=100)
    print(f'SR1 stands {stood:.0f} N for 0.1 s; push.png shows it')
