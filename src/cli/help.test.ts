/** Help and completion, where commands have three words. */
import { expect, test } from 'vitest'
import type { CommandContext } from './command-context.ts'
import type { Command } from './command.ts'
import { completionFor } from './commands/completion.ts'
import { processEnvironment } from './environment.ts'
import { nextWords } from './find-command.ts'
import { run } from './run.ts'

async function said(...argv: string[]): Promise<string> {
  const written: string[] = []
  const stdout = { write: (text: string) => written.push(text) }
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

test('completion knows the words after one and after two', async () => {
  let script = ''
  const ctx = { print: (data: { script: string }) => (script = data.script) } as unknown as CommandContext
  const tree = { commands: COMMANDS, groups: { apps: 'Apps' }, globalOptions: [], rootOptions: [] }
  await completionFor(tree)(ctx, { args: { shell: 'bash' }, options: {} })
  expect(script).toContain('"") words="status apps"')
  expect(script).toContain('"apps") words="list logs checks"')
  expect(script).toContain('"apps checks") words="run add"')
  expect(script).toContain('"apps logs") words="push"')
})
