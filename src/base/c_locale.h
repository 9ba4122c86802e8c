/* SPDX-License-Identifier: MIT */
#ifndef TDT_BASE_C_LOCALE_H
#define TDT_BASE_C_LOCALE_H

#include <locale.h>
#include <stdbool.h>

/*
 * Figures in files have a point, whatever the program's locale says; and jansson aborts the
 * process where the locale's decimal point has several bytes, or is changed while it reads. So
 * this thread works in the C locale meanwhile, which no other thread sees or can change.
 */
typedef struct tdt__c_locale {
  locale_t plain;
  locale_t former;
} tdt__c_locale;

/* False: out of memory, and there is nothing to leave. */
bool tdt__c_locale_enter(tdt__c_locale *locale);
void tdt__c_locale_leave(tdt__c_locale *locale);

#endif
