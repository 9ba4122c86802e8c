/* SPDX-License-Identifier: MIT */
/* Tunings inside tunings, on one thread. */
#include "rig.h"

#include "store/directory.h"

typedef struct inner {
  rig *r;     /* the outer world */
  rig *other; /* another tuner's world */
  size_t n_asked;
} inner;

typedef tdt_status (*launch_fn)(void *user, size_t candidate, tdt_error *error);
typedef tdt_status (*prune_fn)(void *user, size_t candidate, bool *keep, tdt_error *error);

static void use(inner *i, launch_fn launch, prune_fn prune) {
  i->r->request.user = i;
  i->r->request.launch = launch;
  i->r->request.prune = prune;
  i->r->request.discard = NULL;
  i->r->request.progress = NULL;
}

static tdt_status ask_again(void *user, size_t candidate, tdt_error *error) {
  inner *i = user;
  tdt_choice choice;
  tdt_status status = tdt_tuner_resolve(i->r->tuner, &i->r->request, &choice, error);
  assert_int_equal(status, TDT_OK);
  assert_int_equal(choice.origin, TDT_ORIGIN_REENTERED);
  assert_int_equal(choice.candidate, candidate); /* the one in hand */
  assert_false(choice.remembered);
  i->n_asked++;
  return TDT_OK;
}

static void test_F22_a_call_inside_its_own_tuning(void **state) {
  inner i = {.r = *state};
  use(&i, ask_again, NULL);
  (void)rig_resolve(i.r, "k");
  assert_int_equal(i.n_asked, 45);
}

static tdt_status prune_and_ask(void *user, size_t candidate, bool *keep, tdt_error *error) {
  *keep = true;
  (void)candidate;
  return ask_again(user, 0, error); /* nothing runs yet: candidate 0 */
}

static void test_F22_a_call_inside_prune(void **state) {
  inner i = {.r = *state};
  use(&i, ask_again, prune_and_ask);
  (void)rig_resolve(i.r, "k");
  assert_int_equal(i.n_asked, 48);
}

/* The outer candidates call another tuned function, on the same device, and share its context. */
static tdt_status call_other(void *user, size_t candidate, tdt_error *error) {
  inner *i = user;
  tdt_choice choice;
  (void)candidate;
  i->n_asked++;
  return tdt_tuner_resolve(i->other->tuner, &i->other->request, &choice, error);
}

static void share_context(rig *r, rig *other) {
  const tdt_function function = {.name = "inner"};
  tdt_tuner_destroy(other->tuner);
  other->tuner = NULL;
  assert_int_equal(tdt_tuner_create(r->context, &function, other->space, NULL, &other->tuner, NULL),
                   TDT_OK);
}

static void test_F22_tuned_functions_call_tuned_functions(void **state) {
  void *second = NULL;
  assert_int_equal(rig_setup(&second), 0);
  inner i = {.r = *state, .other = second};
  share_context(i.r, i.other);
  i.other->request.key = "inner key";
  use(&i, call_other, NULL);
  (void)rig_resolve(i.r, "k");
  size_t candidate;
  assert_int_equal(i.n_asked, 45);
  assert_int_equal(i.other->n_launched, 45);
  assert_true(tdt_tuner_lookup(i.other->tuner, "inner key", 9, &candidate));
  assert_int_equal(candidate, 1);
  assert_int_equal(rig_teardown(&second), 0);
}

static void test_F22_a_stop_inside_ends_the_outer_one_too(void **state) {
  void *second = NULL;
  assert_int_equal(rig_setup(&second), 0);
  inner i = {.r = *state, .other = second};
  share_context(i.r, i.other);
  i.other->request.key = "inner key";
  i.other->stop_at = 20;
  use(&i, call_other, NULL);
  assert_string_equal(rig_fail(i.r, "k", TDT_ESTOPPED), "the user pressed a key");
  assert_int_equal(i.n_asked, 1);
  assert_int_equal(rig_teardown(&second), 0);
}

static tdt_status never_wait(void *user, tdt_error *error) {
  (void)user;
  return tdt_error_set(error, TDT_ESTOPPED, "it waits");
}

/* The process that it would wait for may wait for the outer key. */
static void test_S04_a_call_inside_a_tuning_waits_for_no_process(void **state) {
  void *second = NULL;
  assert_int_equal(rig_setup(&second), 0);
  inner i = {.r = *state, .other = second};
  const tdt_identity identity = {.function = {.name = "inner"}, .key = "inner key"};
  tdt__file_lock lock = TDT__FILE_LOCK_INIT;
  bool taken = false;
  share_context(i.r, i.other);
  i.other->request.key = identity.key;
  i.other->request.poll = never_wait;
  assert_int_equal(tdt__store_lock_try(i.other->store, &identity, &lock, &taken, NULL), TDT_OK);
  assert_true(taken);
  use(&i, call_other, NULL);
  (void)rig_resolve(i.r, "k");
  assert_int_equal(i.other->n_launched, 45);
  tdt__file_unlock(&lock);
  assert_int_equal(rig_teardown(&second), 0);
}

#define RIG_TEST(test) cmocka_unit_test_setup_teardown(test, rig_setup, rig_teardown)

int main(void) {
  const struct CMUnitTest tests[] = {
      RIG_TEST(test_F22_a_call_inside_its_own_tuning),
      RIG_TEST(test_F22_a_call_inside_prune),
      RIG_TEST(test_F22_tuned_functions_call_tuned_functions),
      RIG_TEST(test_F22_a_stop_inside_ends_the_outer_one_too),
      RIG_TEST(test_S04_a_call_inside_a_tuning_waits_for_no_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
