/* PD control of every joint on rcl, with typed messages: what a tick costs without Python.

   Usage: controller PRIORITY KP KD SKIP [JOINT=REFERENCE]...
   Every SKIP-th state is not answered; 0 for none. It ends with SIGINT or SIGTERM. */

#include "node.h"

#include <signal.h>

static volatile sig_atomic_t stopped = 0;

static void stop(int number) {
  (void)number;
  stopped = 1;
}

/* Where each of our joints is in a message; false where one is missing. */
static bool find_joints(
    const sensor_msgs__msg__JointState *states, char **names, size_t count, size_t *places) {
  for (size_t i = 0; i < count; ++i) {
    size_t place = 0;
    while (place < states->name.size && strcmp(states->name.data[place].data, names[i]) != 0) {
      ++place;
    }
    if (place == states->name.size) {
      return false;
    }
    places[i] = place;
  }
  return states->position.size == states->name.size && states->velocity.size == states->name.size;
}

int main(int argc, char **argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: %s PRIORITY KP KD SKIP JOINT=REFERENCE...\n", argv[0]);
    return 2;
  }
  use_priority(atoi(argv[1]));
  const double kp = atof(argv[2]), kd = atof(argv[3]);
  const long skip = atol(argv[4]);
  const size_t count = (size_t)(argc - 5);
  char **names = argv + 5;
  double *reference = calloc(count, sizeof(double));
  size_t *places = calloc(count, sizeof(size_t));
  for (size_t i = 0; i < count; ++i) {
    char *value = strchr(names[i], '=');
    *value = 0;
    reference[i] = atof(value + 1);
  }
  signal(SIGINT, stop);
  signal(SIGTERM, stop);
  open_node("controller");
  const rmw_qos_profile_t newest = quality(false, 1);
  rcl_subscription_t states = subscribe(
      ROSIDL_GET_MSG_TYPE_SUPPORT(sensor_msgs, msg, JointState), STATES, newest);
  rcl_subscription_t gyro =
      subscribe(ROSIDL_GET_MSG_TYPE_SUPPORT(sensor_msgs, msg, Imu), GYRO, newest);
  rcl_subscription_t force = subscribe(
      ROSIDL_GET_MSG_TYPE_SUPPORT(geometry_msgs, msg, WrenchStamped), FORCE, newest);
  rcl_publisher_t commands = advertise(
      ROSIDL_GET_MSG_TYPE_SUPPORT(std_msgs, msg, Float64MultiArray), COMMANDS, quality(true, 1));
  /* Static, for the fields without a default are left as they are. */
  static sensor_msgs__msg__JointState state;
  static sensor_msgs__msg__Imu imu;
  static geometry_msgs__msg__WrenchStamped wrench;
  static std_msgs__msg__Float64MultiArray command;
  sensor_msgs__msg__JointState__init(&state);
  sensor_msgs__msg__Imu__init(&imu);
  geometry_msgs__msg__WrenchStamped__init(&wrench);
  std_msgs__msg__Float64MultiArray__init(&command);
  rosidl_runtime_c__double__Sequence__init(&command.data, count);
  rcl_wait_set_t set = make_wait_set();
  bool known = false;
  long ticks = 0;
  while (!stopped) {
    if (!take(&states, &state)) {
      wait_for(&set, &states, 100000000);
      continue;
    }
    take(&gyro, &imu);
    take(&force, &wrench);
    if (!known && !(known = find_joints(&state, names, count, places))) {
      continue;
    }
    for (size_t i = 0; i < count; ++i) {
      const size_t place = places[i];
      command.data.data[i] = kp * (reference[i] - state.position.data[place]) -
                             kd * state.velocity.data[place];
    }
    if (skip && ++ticks % skip == 0) {
      continue;
    }
    CHECK(rcl_publish(&commands, &command, NULL));
  }
  CHECK(rcl_wait_set_fini(&set));
  CHECK(rcl_publisher_fini(&commands, &node));
  CHECK(rcl_subscription_fini(&states, &node));
  CHECK(rcl_subscription_fini(&gyro, &node));
  CHECK(rcl_subscription_fini(&force, &node));
  close_node();
  return 0;
}
