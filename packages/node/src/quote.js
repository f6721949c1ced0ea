// SPDX-License-Identifier: Apache-2.0

/** One word for a POSIX shell. */
export function quoteWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

export function quoteWords(words) {
  return words.map(quoteWord).join(' ')
}
