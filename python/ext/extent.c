/* SPDX-License-Identifier: MIT */
#include "compat.h"

#include <stdbool.h>

#include "extent.h"

/*
 * Finds the lines of a function without parsing the file. A block ends before the first line that
 * is indented no deeper than its head, unless that line is inside brackets or a string. So only
 * strings, comments, brackets and indentation are understood, and what looks odd in those (tabs
 * mixed with spaces, form feeds, brackets that do not match) is given up.
 *
 * Functions return the position after what they skip, or UNSURE.
 */
#define UNSURE     ((Py_ssize_t)-1)
#define MAX_NESTED 100 /* strings in fields of strings */

typedef struct Text {
  PyObject *str;
  int kind;
  const void *data;
  Py_ssize_t length;
} Text;

/* The character at a position; 0 at the end (a NUL cannot stand in Python's source). */
static Py_UCS4 at(const Text *text, Py_ssize_t i) {
  return i >= 0 && i < text->length ? PyUnicode_READ(text->kind, text->data, i) : 0;
}

static bool is_blank(Py_UCS4 c) {
  return c == ' ' || c == '\t';
}

static bool is_quote(Py_UCS4 c) {
  return c == '"' || c == '\'';
}

static bool is_name(Py_UCS4 c) {
  return c == '_' || c > 127 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z');
}

static Py_ssize_t skip_blanks(const Text *text, Py_ssize_t i) {
  while (is_blank(at(text, i))) {
    i++;
  }
  return i;
}

static Py_ssize_t skip_to_line_end(const Text *text, Py_ssize_t i) {
  Py_ssize_t end = PyUnicode_FindChar(text->str, '\n', i, text->length, 1);
  return end < 0 ? text->length : end;
}

/* Whether the string that begins at a quote has fields: f"...", rf"...", t"...". */
static bool has_fields(const Text *text, Py_ssize_t quote) {
  for (Py_ssize_t i = quote - 1; i >= quote - 2 && is_name(at(text, i)); i--) {
    Py_UCS4 lower = at(text, i) | 0x20;
    if (lower == 'f' || lower == 't') {
      return true;
    }
  }
  return false;
}

/* How many quotes end a string that begins at `i`. */
static Py_ssize_t n_quotes(const Text *text, Py_ssize_t i) {
  Py_UCS4 quote = at(text, i);
  return at(text, i + 1) == quote && at(text, i + 2) == quote ? 3 : 1;
}

static bool ends_here(const Text *text, Py_ssize_t i, Py_UCS4 quote, Py_ssize_t n) {
  return at(text, i) == quote && (n == 1 || (at(text, i + 1) == quote && at(text, i + 2) == quote));
}

static Py_ssize_t skip_field(const Text *text, Py_ssize_t i, unsigned nested);

/* One character of a string or one escape; where there are fields, one of these. */
static Py_ssize_t skip_in_string(const Text *text, Py_ssize_t i, bool fields, unsigned nested) {
  Py_UCS4 c = at(text, i);
  Py_UCS4 next = at(text, i + 1);
  if (c == '\\') {
    return fields && (next == '{' || next == '}') ? i + 1 : i + 2;
  }
  if (!fields || c != '{') {
    return i + 1;
  }
  return next == '{' ? i + 2 : skip_field(text, i + 1, nested + 1);
}

static Py_ssize_t skip_string(const Text *text, Py_ssize_t i, unsigned nested) {
  bool fields = has_fields(text, i);
  Py_UCS4 quote = at(text, i);
  Py_ssize_t n = n_quotes(text, i);
  for (i += n; i != UNSURE && i < text->length;) {
    if (ends_here(text, i, quote, n)) {
      return i + n;
    }
    if (n == 1 && at(text, i) == '\n') {
      return UNSURE;
    }
    i = skip_in_string(text, i, fields, nested);
  }
  return UNSURE;
}

/* The format of a field, after its colon: text that may have fields. Ends before the brace. */
static Py_ssize_t skip_format(const Text *text, Py_ssize_t i, unsigned nested) {
  while (i != UNSURE && i < text->length && at(text, i) != '}') {
    i = at(text, i) == '{' ? skip_field(text, i + 1, nested + 1) : i + 1;
  }
  return i;
}

/* How a character changes the number of open brackets. */
static int bracket(Py_UCS4 c) {
  switch (c) {
  case '(':
  case '[':
  case '{':
    return 1;
  case ')':
  case ']':
  case '}':
    return -1;
  default:
    return 0;
  }
}

/* One character of code, or the string, comment or joined line end that begins there. */
static Py_ssize_t skip_in_code(const Text *text, Py_ssize_t i, unsigned nested) {
  Py_UCS4 c = at(text, i);
  if (is_quote(c)) {
    return skip_string(text, i, nested);
  }
  if (c == '#') {
    return skip_to_line_end(text, i);
  }
  return c == '\\' ? i + 2 : i + 1;
}

/* A field of a string, after its opening brace. */
static Py_ssize_t skip_field(const Text *text, Py_ssize_t i, unsigned nested) {
  Py_ssize_t depth = 0;
  if (nested > MAX_NESTED) {
    return UNSURE;
  }
  while (i != UNSURE && i < text->length) {
    Py_UCS4 c = at(text, i);
    if (depth == 0 && c == '}') {
      return i + 1;
    }
    if (depth == 0 && c == ':') {
      i = skip_format(text, i + 1, nested);
      continue;
    }
    depth += bracket(c);
    i = skip_in_code(text, i, nested);
  }
  return UNSURE;
}

/* The next line that is neither empty nor a comment, after a line end; `length` if there is none.
 */
static Py_ssize_t next_line(const Text *text, Py_ssize_t line_end) {
  Py_ssize_t start = line_end;
  while (start < text->length) {
    Py_ssize_t i = skip_blanks(text, ++start);
    if (at(text, i) == '#') {
      i = skip_to_line_end(text, i);
    }
    if (i < text->length && at(text, i) != '\n') {
      return start;
    }
    start = i;
  }
  return text->length;
}

typedef enum Depth { DEEPER, NOT_DEEPER, ODD } Depth;

/* Compares the indent of a line with that of the block's head. */
static Depth compare_indent(const Text *text, Py_ssize_t head, Py_ssize_t line) {
  while (is_blank(at(text, head)) && at(text, head) == at(text, line)) {
    head++;
    line++;
  }
  bool head_ends = !is_blank(at(text, head));
  bool line_ends = !is_blank(at(text, line));
  if (at(text, line) == '\f' || (!head_ends && !line_ends)) {
    return ODD;
  }
  return head_ends && !line_ends ? DEEPER : NOT_DEEPER;
}

/* The end of the last line of the block whose head's line begins at `head`. */
static Py_ssize_t block_end(const Text *text, Py_ssize_t head) {
  Py_ssize_t depth = 0;
  Py_ssize_t i = head;
  while (i != UNSURE && i < text->length) {
    Py_UCS4 c = at(text, i);
    depth += bracket(c);
    if (depth < 0) {
      return UNSURE;
    }
    if (c == '\n' && depth == 0) {
      Py_ssize_t line = next_line(text, i);
      Depth found = line == text->length ? NOT_DEEPER : compare_indent(text, head, line);
      if (found != DEEPER) {
        return found == NOT_DEEPER ? i : UNSURE;
      }
      i = line;
      continue;
    }
    i = skip_in_code(text, i, 0);
  }
  return depth == 0 && i == text->length ? i : UNSURE;
}

/* Position of a line's first character, lines counted from 1. */
static Py_ssize_t line_start(const Text *text, Py_ssize_t line) {
  Py_ssize_t i = 0;
  for (; line > 1 && i < text->length; line--) {
    i = skip_to_line_end(text, i) + 1;
  }
  return line == 1 && i < text->length ? i : UNSURE;
}

/* The line of the def, that of its first decorator being given. */
static Py_ssize_t skip_decorators(const Text *text, Py_ssize_t line) {
  Py_ssize_t first = line;
  while (line < text->length && at(text, skip_blanks(text, line)) == '@') {
    Py_ssize_t end = block_end(text, line);
    if (end == UNSURE) {
      return UNSURE;
    }
    line = next_line(text, end);
    if (compare_indent(text, first, line) != NOT_DEEPER ||
        compare_indent(text, line, first) != NOT_DEEPER) {
      return UNSURE;
    }
  }
  return line;
}

/* After a word and the blanks that must follow it; UNSURE where it is not there. */
static Py_ssize_t skip_word(const Text *text, Py_ssize_t i, const char *word) {
  for (; *word != '\0'; word++, i++) {
    if (at(text, i) != (Py_UCS4)*word) {
      return UNSURE;
    }
  }
  Py_ssize_t end = skip_blanks(text, i);
  return end > i ? end : UNSURE;
}

/* Where the name begins in the line of a def. */
static Py_ssize_t name_start(const Text *text, Py_ssize_t line) {
  Py_ssize_t i = skip_blanks(text, line);
  Py_ssize_t after = skip_word(text, i, "async");
  return skip_word(text, after == UNSURE ? i : after, "def");
}

static PyObject *find_definition(const Text *text, Py_ssize_t first_line) {
  Py_ssize_t first = line_start(text, first_line);
  Py_ssize_t line = first == UNSURE ? UNSURE : skip_decorators(text, first);
  Py_ssize_t name = line == UNSURE ? UNSURE : name_start(text, line);
  Py_ssize_t end = name == UNSURE ? UNSURE : block_end(text, line);
  if (end == UNSURE) {
    Py_RETURN_NONE;
  }
  Py_ssize_t name_end = name;
  while (is_name(at(text, name_end))) {
    name_end++;
  }
  return Py_BuildValue("(NN)", PyUnicode_Substring(text->str, name, name_end),
                       PyUnicode_Substring(text->str, line, end));
}

static PyObject *extent_definition(PyObject *module, PyObject *args) {
  (void)module;
  Text text;
  Py_ssize_t line = 0;
  if (!PyArg_ParseTuple(args, "Un:definition", &text.str, &line) || PyUnicode_READY(text.str) < 0) {
    return NULL;
  }
  text.kind = (int)PyUnicode_KIND(text.str);
  text.data = PyUnicode_DATA(text.str);
  text.length = PyUnicode_GET_LENGTH(text.str);
  return find_definition(&text, line);
}

PyDoc_STRVAR(definition_doc,
             "definition($module, text, line, /)\n--\n\n"
             "Name and text, from its def on, of the function whose first decorator or def stands "
             "in a line of a file's text; None where the lines alone do not tell.");

PyMethodDef extent_methods[] = {
    {"definition", extent_definition, METH_VARARGS, definition_doc},
    {NULL, NULL, 0, NULL},
};
