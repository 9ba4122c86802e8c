/* SPDX-License-Identifier: MIT */
#include "base/c_locale.h"

bool tdt__c_locale_enter(tdt__c_locale *locale) {
  locale->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (locale->plain == (locale_t)0) {
    return false;
  }
  locale->former = uselocale(locale->plain);
  return true;
}

void tdt__c_locale_leave(tdt__c_locale *locale) {
  (void)uselocale(locale->former);
  freelocale(locale->plain);
}
