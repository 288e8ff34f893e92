/** With hosted auth there are no rows of people here: only what the auth service runs, and the directory, may read them. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { filesUnder } from './source-tree.ts'

/**
 * Cores whose verbs the auth service alone serves, the one that everybody else asks, the lock of a granting write, and what
 * both of these ask about machine agents.
 */
const MAY_READ =
  /^src\/cores\/((lock-author|live-machine-agent)\.ts$|(credentials|directory|email-addresses|grants|identity|identity-provider|machine-agents|organizations|scim|support-sessions)\/)/
const TABLES = /\b(users|memberships|organizations|formerMembers|former_members)\b/

test('no other core reads users, memberships or organizations', () => {
  const readers = filesUnder('src/cores')
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !MAY_READ.test(path))
    .filter((path) => TABLES.test(statementsIn(readFileSync(path, 'utf8'))))
  expect(readers).toEqual([])
  expect(TABLES.test(statementsIn(readFileSync('src/cores/directory/local-directory.ts', 'utf8')))).toBe(true)
})

/** Imports of tables and written statements; comments and other words are left out. */
function statementsIn(source: string): string {
  const imports = source.match(/import (type )?\{[^}]*\} from '[./]*db\/schema\.ts'/g) ?? []
  const written = source.match(/sql(<[^>]*>)?`[^`]*`/g) ?? []
  return [...imports, ...written].join('\n')
}
