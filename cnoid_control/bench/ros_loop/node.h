/* What the robot and the controller of the benchmark share: a node on rcl, and errors that end it. */

#ifndef CNOID_CONTROL_BENCH_NODE_H
#define CNOID_CONTROL_BENCH_NODE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rcl/error_handling.h>
#include <rcl/rcl.h>
#include <geometry_msgs/msg/wrench_stamped.h>
#include <rosidl_runtime_c/primitives_sequence_functions.h>
#include <rosidl_runtime_c/string_functions.h>
#include <sensor_msgs/msg/imu.h>
#include <sensor_msgs/msg/joint_state.h>
#include <std_msgs/msg/float64_multi_array.h>

#define STATES "joint_states"
#define GYRO "imu"
#define FORCE "wrench"
#define COMMANDS "effort_controller/commands"

#define CHECK(call)                                                                        \
  do {                                                                                     \
    if ((call) != RCL_RET_OK) {                                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, rcl_get_error_string().str);      \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

static rcl_context_t context;
static rcl_node_t node;

/* First-in-first-out scheduling of this thread and of those of the middleware; 0 for none. */
static void use_priority(int priority) {
  const struct sched_param wanted = {.sched_priority = priority};
  if (priority > 0 && sched_setscheduler(0, SCHED_FIFO, &wanted) != 0) {
    perror("no real-time scheduling");
    exit(1);
  }
}

static void open_node(const char *name) {
  rcl_init_options_t options = rcl_get_zero_initialized_init_options();
  CHECK(rcl_init_options_init(&options, rcl_get_default_allocator()));
  context = rcl_get_zero_initialized_context();
  CHECK(rcl_init(0, NULL, &options, &context));
  node = rcl_get_zero_initialized_node();
  const rcl_node_options_t given = rcl_node_get_default_options();
  CHECK(rcl_node_init(&node, name, "", &context, &given));
}

static void close_node(void) {
  CHECK(rcl_node_fini(&node));
  CHECK(rcl_shutdown(&context));
}

static rmw_qos_profile_t quality(bool reliable, size_t depth) {
  rmw_qos_profile_t qos = rmw_qos_profile_default;
  qos.reliability =
      reliable ? RMW_QOS_POLICY_RELIABILITY_RELIABLE : RMW_QOS_POLICY_RELIABILITY_BEST_EFFORT;
  qos.depth = depth;
  return qos;
}

static rcl_publisher_t advertise(
    const rosidl_message_type_support_t *kind, const char *topic, rmw_qos_profile_t qos) {
  rcl_publisher_t publisher = rcl_get_zero_initialized_publisher();
  rcl_publisher_options_t options = rcl_publisher_get_default_options();
  options.qos = qos;
  CHECK(rcl_publisher_init(&publisher, &node, kind, topic, &options));
  return publisher;
}

static rcl_subscription_t subscribe(
    const rosidl_message_type_support_t *kind, const char *topic, rmw_qos_profile_t qos) {
  rcl_subscription_t subscription = rcl_get_zero_initialized_subscription();
  rcl_subscription_options_t options = rcl_subscription_get_default_options();
  options.qos = qos;
  CHECK(rcl_subscription_init(&subscription, &node, kind, topic, &options));
  return subscription;
}

static rcl_wait_set_t make_wait_set(void) {
  rcl_wait_set_t set = rcl_get_zero_initialized_wait_set();
  CHECK(rcl_wait_set_init(&set, 1, 0, 0, 0, 0, 0, &context, rcl_get_default_allocator()));
  return set;
}

/* Sleep until the subscription has a message or the time [ns] is over. */
static void wait_for(rcl_wait_set_t *set, const rcl_subscription_t *subscription, int64_t time) {
  CHECK(rcl_wait_set_clear(set));
  CHECK(rcl_wait_set_add_subscription(set, subscription, NULL));
  const rcl_ret_t result = rcl_wait(set, time > 0 ? time : 0);
  if (result != RCL_RET_TIMEOUT) {
    CHECK(result);
  }
}

/* Take a message, if there is one. */
static bool take(const rcl_subscription_t *subscription, void *message) {
  const rcl_ret_t result = rcl_take(subscription, message, NULL, NULL);
  if (result == RCL_RET_SUBSCRIPTION_TAKE_FAILED) {
    rcl_reset_error();
    return false;
  }
  CHECK(result);
  return true;
}

#endif
