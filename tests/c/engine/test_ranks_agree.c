/* SPDX-License-Identifier: MIT */
/* R02: ranks that are about to do different things say so, all in the same words. */
#include <stdio.h>

#include "ranks_rig.h"

static void renew_tuner(rig *r, const tdt_function *function, const tdt_plan *plan) {
  tdt_tuner_destroy(r->tuner);
  r->tuner = NULL;
  assert_int_equal(tdt_tuner_create(r->context, function, r->space, plan, &r->tuner, NULL), TDT_OK);
}

static void change_module(rank *me) {
  const tdt_function function = {.name = "scale", .module = "mine", .source = "abc"};
  renew_tuner(me->r, &function, NULL);
}

static void change_source(rank *me) {
  const tdt_function function = {.name = "scale", .module = "ops", .source = "abd"};
  renew_tuner(me->r, &function, NULL);
}

static void change_plan(rank *me) {
  const tdt_function function = {.name = "scale", .module = "ops", .source = "abc"};
  tdt_plan plan = tdt_plan_documented();
  plan.n_repeat = 3;
  renew_tuner(me->r, &function, &plan);
}

static void change_key(rank *me) {
  me->r->request.key = "other";
}

static void add_candidate(rank *me) {
  rig_offer(me->r, 4, (const int[]){3, 1, 2, 4});
}

static void change_order(rank *me) {
  rig_offer(me->r, 3, (const int[]){3, 2, 1});
}

static void prune_one(rank *me) {
  me->r->candidates[1].pruned = true;
}

static void change_prune_rule(rank *me) {
  me->r->request.prune_rule = "another rule";
}

static void prune_nothing(rank *me) {
  me->r->request.prune = NULL;
}

static void use_first(rank *me) {
  me->r->settings.on_miss = TDT_ON_MISS_FIRST;
}

static void fail_on_miss(rank *me) {
  me->r->settings.on_miss = TDT_ON_MISS_ERROR;
}

static void ignore_store(rank *me) {
  me->r->settings.always_tune = true;
}

static void check_dependencies(rank *me) {
  me->r->settings.check_dependencies = true;
}

static void capture(rank *me) {
  me->r->is_capturing = true;
}

typedef struct difference {
  const char *what;
  void (*make)(rank *me);
  const char *usual; /* part of the text: what most say */
  const char *odd;
} difference;

static const difference differences[] = {
    {"function: ", change_module, "ops.scale", "mine.scale"},
    {"source (with the values that it uses, such as a rank): ", change_source, "abc", "abd"},
    {"key: ", change_key, "k", "other"},
    {"candidates: ", add_candidate, "3 in number", "4 in number"},
    {"candidates: ", change_order, "3 in number", "3 in number"},
    {"candidates that pruning keeps: ", prune_one, "0-2", "0, 2"},
    {"pruning rule: ", change_prune_rule, "one without a digest", "another rule"},
    {"pruning rule: ", prune_nothing, "one without a digest", "none"},
    {"plan: ", change_plan, "10 timed runs", "3 timed runs"},
    {"settings: ", use_first, "on a miss tune", "on a miss use the first candidate"},
    {"settings: ", fail_on_miss, "on a miss tune", "on a miss fail"},
    {"settings: ", ignore_store, "stored results are used", "stored results are ignored"},
    {"settings: ", check_dependencies, "are used,", "are used if made with the same software"},
    {"settings: ", capture, "on a miss tune", "but now a graph is being captured"},
};

/* "usual... on ranks 0, 2; odd... on rank 1", in the order of the ranks. */
static void assert_names(const char *text, const difference *one, unsigned odd) {
  static const char *const others[] = {" on ranks 1-2", " on ranks 0, 2", " on ranks 0-1"};
  char mine[32];
  (void)snprintf(mine, sizeof mine, " on rank %u", odd);
  const char *at = strstr(text, one->what);
  if (at == NULL) {
    fail_msg("\"%s\" does not say \"%s\"", text, one->what);
    return;
  }
  const char *of_odd = strstr(at, mine);
  const char *of_others = strstr(at, others[odd]);
  if (of_odd == NULL || of_others == NULL || (of_odd < of_others) != (odd == 0)) {
    fail_msg("\"%s\" does not name%s and%s in order", text, mine, others[odd]);
  }
  assert_contains(at, one->usual);
  assert_contains(at, one->odd);
}

static void test_R02_differences_are_told_alike(void **state) {
  ranks *all = *state;
  for (size_t i = 0; i < N_OF(differences); i++) {
    for (unsigned odd = 0; odd < all->n; odd++) {
      for (unsigned k = 0; k < all->n; k++) {
        all->at[k].r->request.key = "k";
      }
      differences[i].make(&all->at[odd]);
      ranks_run_requests(all);
      assert_names(ranks_assert_failed(all, TDT_EGROUP), &differences[i], odd);
      assert_int_equal(ranks_count_launched(all), 0);
      assert_null(rig_record(all->at[0].r, "k"));
      ranks_restore(all);
      char key[32];
      (void)snprintf(key, sizeof key, "k%zu.%u", i, odd);
      ranks_assert_in_step(all, key);
    }
  }
}

static void test_R02_all_differ(void **state) {
  static const char *const keys[] = {"a", "b", "c", "d"};
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    all->at[i].r->request.key = keys[i];
  }
  ranks_run_requests(all);
  assert_contains(ranks_assert_failed(all, TDT_EGROUP),
                  "key: a on rank 0; b on rank 1; c on rank 2; d on rank 3");
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

/* Several things at once: all are told. */
static void test_R02_two_differences(void **state) {
  ranks *all = *state;
  all->at[0].r->request.key = "k";
  all->at[1].r->request.key = "l";
  use_first(&all->at[1]);
  ranks_run_requests(all);
  const char *text = ranks_assert_failed(all, TDT_EGROUP);
  assert_contains(text, "key: k on rank 0; l on rank 1");
  assert_contains(text, "settings: ");
}

/* They are shown cut; a digest tells them apart. */
static void test_R02_long_keys_that_look_alike(void **state) {
  char keys[2][1000];
  ranks *all = *state;
  for (unsigned i = 0; i < all->n; i++) {
    memset(keys[i], 'x', sizeof keys[i]);
    keys[i][998] = (char)('a' + i);
    keys[i][999] = '\0';
    all->at[i].r->request.key = keys[i];
  }
  ranks_run_requests(all);
  const char *text = ranks_assert_failed(all, TDT_EGROUP);
  assert_contains(text, "(999 bytes, ");
  ranks_restore(all);
  ranks_assert_in_step(all, "k");
}

/* One rank is in a tuning of which the others know nothing. */
static tdt_status tune_another(rank *me, size_t candidate, tdt_error *error) {
  tdt_request request = me->r->request;
  tdt_choice choice;
  if (candidate != 0 || me->r->candidates[0].n_launched > 0) {
    return TDT_OK;
  }
  request.key = "inside";
  request.settings = NULL;
  return tdt_tuner_resolve(me->r->tuner, &request, &choice, error);
}

static void test_R02_different_places(void **state) {
  ranks *all = *state;
  for (unsigned odd = 0; odd < all->n; odd++) {
    all->at[odd].on_launch = tune_another;
    ranks_run(all, "k");
    for (unsigned i = 0; i < all->n; i++) {
      assert_int_equal(all->at[i].status, TDT_EGROUP);
      ranks_assert_forgotten(&all->at[i]);
      if (i != odd) {
        const char *text = tdt_error_text(&all->at[i].error);
        assert_contains(text, "the ranks are in different places");
        assert_contains(text, "scale, key k: candidate [0], timed runs");
        assert_contains(text, "scale, key inside: check-in");
      }
    }
    ranks_restore(all);
    ranks_assert_in_step(all, odd == 0 ? "a" : odd == 1 ? "b" : "c");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RANKS_TEST(3, test_R02_differences_are_told_alike),
      RANKS_TEST(4, test_R02_all_differ),
      RANKS_TEST(2, test_R02_two_differences),
      RANKS_TEST(2, test_R02_long_keys_that_look_alike),
      RANKS_TEST(3, test_R02_different_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
