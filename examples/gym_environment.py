"""A configuration as a gymnasium environment: random actions, rewards, two processes."""

import gymnasium
import numpy as np

import cnoid_control  # noqa: F401

ARGUMENTS = {
    'config': 'sr1_pd',
    'observations': ['projected_gravity', 'base_angular_velocity', 'joint_position'],
    'reward': {'alive': 1.0, 'tilt': -2.0, 'action_rate': -0.1},
    'duration': 2.0,
    'randomize': {'mass.CHEST': {'uniform': [0.9, 1.1]}},
}

if __name__ == '__main__':
    env = gymnasium.make('cnoid_control/Env-v0', **ARGUMENTS)
    print('observations:', env.observation_space.shape, 'actions:', env.action_space.shape)
    for seed in (1, 1, 2):
        observation, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        total, over = 0.0, False
        while not over:
            observation, reward, terminated, truncated, _ = env.step(env.action_space.sample())
            total, over = total + reward, terminated or truncated
        how = 'fell' if terminated else 'stood'
        print(f'seed {seed}: {how}, return {total:.6f}, {info["drawn"]["mass.CHEST"]:.3f} of mass')
    env.close()

    two = gymnasium.make_vec(
        'cnoid_control/Env-v0', num_envs=2, vectorization_mode='async', **ARGUMENTS
    )
    observations, _ = two.reset(seed=[1, 2])
    rewards = [two.step(np.zeros(two.action_space.shape, np.float32))[1] for _ in range(10)]
    print('rewards in two processes:', np.sum(rewards, axis=0).round(3))
    two.close()
