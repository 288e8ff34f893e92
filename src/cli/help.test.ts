/** Help and completion, where commands have three words. */
import { expect, test } from 'vitest'
import type { Command } from './command.ts'
import { processEnvironment } from './environment.ts'
import { nextWords } from './find-command.ts'
import { run } from './run.ts'

async function said(...argv: string[]): Promise<string> {
  const written: string[] = []
  const stdout = { write: (text: string | Uint8Array) => written.push(String(text)) }
  expect(await run(argv, { ...processEnvironment(), stdout })).toBe(0)
  return written.join('')
}

test('the help of two words lists the commands below them', async () => {
  const help = await said('apps', 'tokens', '--help')
  expect(help).toContain('Usage:\n  svc apps tokens <app> [options]')
  expect(help).toMatch(/Commands:\n {2}apps tokens create +Create/)
  expect(await said('help', 'apps', 'tokens', 'create')).toContain('svc apps tokens create <app> [options]')
  expect(await said('apps', '--help')).toContain('apps tokens revoke')
})

test('the help of svc itself has all groups, the exit codes that scripts rely on, and is there without a word', async () => {
  const help = await said('--help')
  expect(help).toMatch(/^svc \S+: query/)
  expect(help).toMatch(/\n {2}login +Sign in/)
  expect(help).toMatch(/\n {2}apps tokens create +Create/)
  for (const exit of [
    '0 +success',
    '3 +not logged in',
    '6 +conflict',
    '8 +server unreachable',
    '11 +the command worked',
  ])
    expect(help).toMatch(new RegExp(`\\n {2}${exit}`))
  expect(await said()).toBe(help)
  expect(await said('help')).toBe(help)
})

const command = (path: string): Command => ({
  path,
  summary: `Summary of ${path}`,
  examples: [],
  load: () => Promise.reject(new Error('not called')),
})
const COMMANDS = [
  'status',
  'apps list',
  'apps logs',
  'apps logs push',
  'apps checks run',
  'apps checks add',
].map(command)

test('what can follow, each word once', () => {
  const after = (...words: string[]) => nextWords(words, COMMANDS).map(([word]) => word)
  expect(after()).toEqual(['status', 'apps'])
  expect(after('apps')).toEqual(['list', 'logs', 'checks'])
  expect(after('apps', 'checks')).toEqual(['run', 'add'])
  expect(after('apps', 'logs', 'push')).toEqual([])
  expect(nextWords(['apps'], COMMANDS)[1]).toEqual(['logs', 'Summary of apps logs'])
})
