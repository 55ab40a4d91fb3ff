/* A robot that is nothing but its messages: it publishes states, awaits the commands that answer
   them, and measures how long each has taken.

   Usage: robot PRIORITY KP [JOINT=POSITION]...
   Lines on its input are
     run PERIOD TICKS PID FILE
   Each has it publish with this period [ns] from now on and measure so many ticks: it prints a
   line of JSON, and writes to the file for each tick the time [ns] until its answer came, and
   then for each the time until the next command came, whatever it answers; -1 for none, as 64-bit
   integers. PID is the controller's process. It ends with its input.

   The first joint is moved a little in each tick, by a multiple of STEP: the effort that a PD
   controller with the gain KP and the given positions as references commands for it tells which
   state it answers. */

#include "node.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#define CODES 4096
#define STEP 1e-6
/* Time for which answers are waited for after the last tick [ns]. */
#define PATIENCE 100000000

struct request {
  int64_t period;
  int64_t ticks;
  int pid;
  char file[1024];
};

static struct request request;
static atomic_int asked = 0;
static atomic_int ended = 0;

static int64_t now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Processor time that a process has used [ns]; 0 for none. */
static int64_t cpu_time(int pid) {
  clockid_t clock;
  return pid > 0 && clock_getcpuclockid(pid, &clock) == 0 ? now(clock) : 0;
}

static void *read_requests(void *nothing) {
  char line[1200];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const struct timespec nap = {0, 1000000};
    while (atomic_load(&asked)) {
      nanosleep(&nap, NULL);
    }
    long long period = 0, ticks = 0;
    if (sscanf(line, "run %lld %lld %d %1023s", &period, &ticks, &request.pid, request.file) ==
            4 && period > 0 && ticks > 0) {
      request.period = period;
      request.ticks = ticks;
      atomic_store(&asked, 1);
    } else {
      fprintf(stderr, "not understood: %s", line);
    }
  }
  atomic_store(&ended, 1);
  return nothing;
}

/* Write the times, two for each tick, and print the rest. */
static void report(const struct request *run, int64_t *times, int64_t duration, int64_t cpu,
                   int64_t late) {
  FILE *file = fopen(run->file, "wb");
  const size_t count = 2 * (size_t)run->ticks;
  if (file == NULL || fwrite(times, sizeof *times, count, file) != count) {
    perror(run->file);
    exit(1);
  }
  fclose(file);
  printf("{\"ticks\": %lld, \"duration\": %.9f, \"cpu\": %.9f, \"late\": %.9f}\n",
         (long long)run->ticks, 1e-9 * (double)duration, 1e-9 * (double)cpu, 1e-9 * (double)late);
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: %s PRIORITY KP JOINT=POSITION...\n", argv[0]);
    return 2;
  }
  use_priority(atoi(argv[1]));
  const double kp = atof(argv[2]);
  const size_t count = (size_t)(argc - 3);
  open_node("robot");
  const rmw_qos_profile_t newest = quality(false, 1);
  rcl_publisher_t states = advertise(
      ROSIDL_GET_MSG_TYPE_SUPPORT(sensor_msgs, msg, JointState), STATES, newest);
  rcl_publisher_t gyro =
      advertise(ROSIDL_GET_MSG_TYPE_SUPPORT(sensor_msgs, msg, Imu), GYRO, newest);
  rcl_publisher_t force = advertise(
      ROSIDL_GET_MSG_TYPE_SUPPORT(geometry_msgs, msg, WrenchStamped), FORCE, newest);
  /* Deep enough that no answer is lost here. */
  rcl_subscription_t commands =
      subscribe(ROSIDL_GET_MSG_TYPE_SUPPORT(std_msgs, msg, Float64MultiArray), COMMANDS,
                quality(true, 50));
  /* Static, for the fields without a default are left as they are. */
  static sensor_msgs__msg__JointState state;
  static sensor_msgs__msg__Imu imu;
  static geometry_msgs__msg__WrenchStamped wrench;
  static std_msgs__msg__Float64MultiArray command;
  sensor_msgs__msg__JointState__init(&state);
  sensor_msgs__msg__Imu__init(&imu);
  geometry_msgs__msg__WrenchStamped__init(&wrench);
  std_msgs__msg__Float64MultiArray__init(&command);
  rosidl_runtime_c__String__Sequence__init(&state.name, count);
  rosidl_runtime_c__double__Sequence__init(&state.position, count);
  rosidl_runtime_c__double__Sequence__init(&state.velocity, count);
  rosidl_runtime_c__double__Sequence__init(&state.effort, count);
  for (size_t i = 0; i < count; ++i) {
    char *value = strchr(argv[3 + i], '=');
    *value = 0;
    rosidl_runtime_c__String__assign(&state.name.data[i], argv[3 + i]);
    state.position.data[i] = atof(value + 1);
  }
  const double home = state.position.data[0];
  imu.orientation.w = 1.0;
  imu.linear_acceleration.z = 9.81;
  wrench.wrench.force.z = 100.0;
  rcl_wait_set_t set = make_wait_set();

  static int64_t sent_at[CODES];
  int64_t period = 1000000, tick = 0, stamp = now(CLOCK_REALTIME);
  int64_t due = now(CLOCK_MONOTONIC) + period;
  /* The run: its ticks, from `first` on, the first that no command came after, the rest. */
  struct request run = {0};
  int64_t first = 0, unheard = 0, patience = 0, begin = 0, end = 0, cpu_begin = 0, cpu_end = 0, late = 0;
  int64_t *times = NULL;
  pthread_t reader;
  pthread_create(&reader, NULL, read_requests, NULL);
  while (!atomic_load(&ended)) {
    if (times == NULL && atomic_load(&asked)) {
      run = request;
      atomic_store(&asked, 0);
      period = run.period;
      due = now(CLOCK_MONOTONIC) + period;
      times = malloc(2 * (size_t)run.ticks * sizeof *times);
      memset(times, 0xFF, 2 * (size_t)run.ticks * sizeof *times);
      first = unheard = tick + 1;
      patience = PATIENCE / period + 1;
      late = 0;
    }
    /* The tick. */
    ++tick;
    stamp += period;
    if (times != NULL && tick == first) {
      begin = now(CLOCK_MONOTONIC);
      cpu_begin = cpu_time(run.pid);
    } else if (times != NULL && tick == first + run.ticks) {
      end = now(CLOCK_MONOTONIC);
      cpu_end = cpu_time(run.pid);
    } else if (times != NULL && tick == first + run.ticks + patience) {
      report(&run, times, end - begin, cpu_end - cpu_begin, late);
      free(times);
      times = NULL;
    }
    state.header.stamp.sec = (int32_t)(stamp / 1000000000);
    state.header.stamp.nanosec = (uint32_t)(stamp % 1000000000);
    imu.header.stamp = wrench.header.stamp = state.header.stamp;
    state.position.data[0] = home + STEP * (double)(tick % CODES);
    CHECK(rcl_publish(&gyro, &imu, NULL));
    CHECK(rcl_publish(&force, &wrench, NULL));
    sent_at[tick % CODES] = now(CLOCK_MONOTONIC);
    CHECK(rcl_publish(&states, &state, NULL));
    /* Answers, until the next tick. */
    int64_t left;
    do {
      while (take(&commands, &command)) {
        const int64_t arrival = now(CLOCK_MONOTONIC);
        if (times == NULL || command.data.size != count) {
          continue;
        }
        for (; unheard <= tick; ++unheard) {
          if (unheard < first + run.ticks && tick - unheard < CODES) {
            times[run.ticks + unheard - first] = arrival - sent_at[unheard % CODES];
          }
        }
        const int64_t code = llround(-command.data.data[0] / (kp * STEP));
        if (code < 0 || code >= CODES) {
          continue;
        }
        /* The last state that had this code. */
        const int64_t answered = tick - (tick - code + CODES) % CODES;
        const int64_t place = answered - first;
        if (place >= 0 && place < run.ticks && times[place] < 0) {
          times[place] = arrival - sent_at[code];
        }
      }
      left = due - now(CLOCK_MONOTONIC);
      if (left > 0) {
        wait_for(&set, &commands, left);
        left = due - now(CLOCK_MONOTONIC);
      }
    } while (left > 0);
    due += period;
    late = -left > late ? -left : late;
    if (left < -period) {
      /* Too late: lost time is not chased with a burst of states. */
      due = now(CLOCK_MONOTONIC) + period;
    }
  }
  CHECK(rcl_wait_set_fini(&set));
  CHECK(rcl_publisher_fini(&states, &node));
  CHECK(rcl_publisher_fini(&gyro, &node));
  CHECK(rcl_publisher_fini(&force, &node));
  CHECK(rcl_subscription_fini(&commands, &node));
  close_node();
  return 0;
}
