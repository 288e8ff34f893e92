import { expect, test } from 'vitest'
import { findCopyFromStdin } from './find-copy-from-stdin.ts'

test.each([
  ['copy t from stdin', `copy t from '/dev/blob'`],
  ['COPY public."from stdin" (a, b) FROM STDIN;', `COPY public."from stdin" (a, b) FROM '/dev/blob';`],
  [
    '/* a /* b */ */ copy t -- from\nfrom stdin with (format csv)',
    `/* a /* b */ */ copy t -- from\nfrom '/dev/blob' with (format csv)`,
  ],
  [`;; copy t from stdin (delimiter ';') ;`, `;; copy t from '/dev/blob' (delimiter ';') ;`],
])('%s is one', (sql, fromBlob) => {
  expect(findCopyFromStdin(sql)).toEqual({ alone: true, binary: false, fromBlob })
})

test.each([
  `select 'copy x from stdin'`,
  `select E'\\' ; copy x from stdin'`,
  `select $a$ ; copy x from stdin $a$`,
  `-- x\n/* ; copy x from stdin */ select 1`,
  `select 1 as "a;copy x from stdin"`,
  'copy (select a from stdin) to stdout',
  'copy stdin to stdout',
  `copy t from '/tmp/stdin'`,
  'copy t from "stdin"',
  'explain copy t from stdin',
  'create table copy_from_stdin (a int)',
])('%s is none', (sql) => {
  expect(findCopyFromStdin(sql)).toBeUndefined()
})

test.each(['select 1; copy t from stdin', 'copy t from stdin; select 1', `select '''' ; copy t from stdin`])(
  '%s has one beside something else',
  (sql) => {
    expect(findCopyFromStdin(sql)).toEqual({ alone: false })
  },
)

test.each(['copy t from stdin (format binary)', 'copy t from stdin with binary', 'copy binary t from stdin'])(
  '%s is binary',
  (sql) => {
    expect(findCopyFromStdin(sql)).toMatchObject({ binary: true })
  },
)
