"""Does it also stand when things are different? Many randomised runs, and what the falls share."""

from cnoid_control import evaluate

RANDOMIZE = {
    'friction': {'uniform': [0.3, 1.0]},
    'mass.CHEST': {'uniform': [0.8, 1.2]},
    'push.one': {
        'link': 'WAIST',
        'force': {'uniform': [200.0, 2600.0]},
        'heading': {'uniform': [-180.0, 180.0]},
        'time': 0.3,
    },
}

if __name__ == '__main__':
    found = evaluate('sr1_pd', RANDOMIZE, runs=24, duration=1.5, seed=1)
    low, high = found.interval()
    print(f'{found.pass_rate:.0%} of 24 runs pass; with 95 % confidence {low:.0%} to {high:.0%}')
    for one in found.separations()[:2]:
        print(f'failures have {one.side} {one.name} (AUC {one.auc:.2f})')
    worst = found.replay(found.worst()['run'])  # that run again, to the bit
    print(f'the worst run tilts by {worst.summary()["max_tilt_deg"]:.0f} degrees')
