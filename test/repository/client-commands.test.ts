/** What a contract says of an operation is enough for a command of `svc`: arguments, choices, limits, help and output. */
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { callRow, commandRow } from '../../scripts/generated/client-commands.ts'
import type { CommandContext } from '../../src/cli/command-context.ts'
import { COMMANDS } from '../../src/cli/command-table.ts'
import type { Command } from '../../src/cli/command.ts'
import { formatOutput, type View } from '../../src/cli/format-output.ts'
import { commandHelp } from '../../src/cli/help.ts'
import type { OperationCall } from '../../src/cli/operation-call.ts'
import { parseFor } from '../../src/cli/parse.ts'
import { runOperation } from '../../src/cli/run-operation.ts'
import { field } from '../../src/contracts/field.ts'
import { Id } from '../../src/contracts/ids.ts'
import { creating, reading, type Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { pageInput, pageOutput } from '../../src/contracts/paging.ts'

const Lamp = z.object({
  id: z.string(),
  color: z.string(),
  room: z.object({ name: z.string() }),
  lit_at: z.string(),
})

const listLamps = reading({
  service: 'api-gateway',
  name: 'listLamps',
  summary: 'List lamps.',
  input: z.object({ color: z.enum(['red', 'blue']).default('red'), ...pageInput }),
  output: z.object({ lamps: z.array(Lamp), ...pageOutput }),
  access: 'viewer',
  command: { path: 'lamps', examples: ['svc lamps'] },
  http: { method: 'get', path: '/api/lamps' },
})

const changeLamp = creating({
  service: 'api-gateway',
  name: 'changeLamp',
  summary: 'Change a lamp.',
  input: z.object({
    lamp_id: Id('app'),
    watts: z.int().min(1).max(9).optional().describe('How bright.'),
    tags: z.array(z.string().max(5)).optional().describe('What it is for.'),
    labels: z.record(z.string(), z.string()).optional().describe('Anything else.'),
    lit: field(z.boolean(), {
      client: { flag: 'on', summary: 'Light it', not: { flag: 'off', summary: 'Darken it' } },
    }),
    until: z.iso.datetime().optional().describe('When it goes out.'),
  }),
  output: Lamp,
  access: 'viewer',
  command: {
    path: 'lamps change',
    table: 'LAMP=id, color, room.name, lit_at',
    confirm: 'This changes {lamp_id}.',
    notes: [{ if: 'color=red', text: '{lamp_id} is {color} now' }],
    examples: ['svc lamps change app_0mwhkcyh5nlh1pqqssy5gj19q --on'],
  },
  http: { method: 'post', path: '/api/lamps/{lamp_id}' },
})

const made = (operation: Operation, operations: readonly Operation[] = [listLamps, changeLamp]) => {
  const one = { operation, command: [operation.command!].flat()[0]! }
  return { command: commandRow(one, operations) as Command, call: callRow(one) as OperationCall }
}

async function svc(operation: Operation, argv: readonly string[], answer: unknown) {
  const [calls, printed, said] = [[] as unknown[], [] as string[], [] as string[]]
  const declared = made(operation)
  const ctx = {
    settings: { interactive: false },
    info: (line: string) => said.push(line),
    print: (data: unknown, view: View) => printed.push(formatOutput(data, view, 'table')),
    callOperation: async (name: string, input: unknown) => {
      calls.push([name, input])
      return answer
    },
  } as unknown as CommandContext
  await runOperation(declared)(ctx, parseFor(declared.command, argv))
  return { calls, printed: printed.join(''), said }
}

const ID = 'app_0mwhkcyh5nlh1pqqssy5gj19q'
const LAMP = { id: ID, color: 'red', room: { name: 'Hall' }, lit_at: 'now' }

describe('an operation that nobody wrote a command for', () => {
  test('has help with its arguments, choices, limits and defaults', () => {
    expect(commandHelp(made(changeLamp).command).split('\nGlobal options:')[0]).toBe(`Change a lamp.

Usage:
  svc lamps change <lamp_id> [options]

Examples:
  svc lamps change ${ID} --on

Arguments:
  lamp_id  app_…, from \`svc lamps\`

Options:
      --watts <n>            How bright, 1 to 9
      --tag <text>           What it is for (repeatable)
      --labels <name=value>  Anything else (repeatable)
      --on                   Light it
      --off                  Darken it
      --until <time>         When it goes out
  -y, --yes                  Skip the confirmation prompt
`)
    expect(commandHelp(made(listLamps).command)).toMatch(
      /--color <color> +Filter by color \(default red\): red, blue\n +--limit <n> +Rows per page, 1 to 200 \(default 50\)\n +--cursor <cursor> [^]* +--all /,
    )
  })

  test('names no list of what it belongs to as the one of its thing', () => {
    const changeBulb = {
      ...changeLamp,
      name: 'changeBulb',
      input: z.object({ lamp_id: Id('app'), bulb_id: Id('chk').describe('One of the lamp.') }),
      command: { path: 'lamps bulbs change', examples: ['svc lamps bulbs change'] },
      http: { method: 'post', path: '/api/lamps/{lamp_id}/bulbs/{bulb_id}' },
    } as unknown as Operation
    const { command } = made(changeBulb)
    expect(command.arguments!.map(({ summary }) => summary)).toEqual([
      'app_…, from `svc lamps`',
      'One of the lamp',
    ])
    // What is not found may be the lamp.
    expect(command.listedBy).toBe('lamps')
  })

  test('is not made where nothing is said of a field; the error says what to add', () => {
    const input = z.object({ lamp_id: Id('app'), mood: z.string() })
    expect(() => made({ ...changeLamp, input })).toThrow(
      "nothing is said of mood of changeLamp: give it .describe('…'), or field(…, { client: '…' })",
    )
  })

  test('sends what was typed, and prints the answer', async () => {
    const line = `${ID} --watts 3 --tag a --tag b --labels x=1 --labels x=2 --labels y=3 --off --until 2026-11-15 -y`
    const { calls, printed, said } = await svc(changeLamp, line.split(' '), LAMP)
    const sent = {
      lamp_id: ID,
      watts: 3,
      tags: ['a', 'b'],
      labels: { x: ['1', '2'], y: '3' },
      lit: false,
      until: '2026-11-15T00:00:00.000Z',
    }
    expect(calls).toEqual([['changeLamp', sent]])
    expect(printed).toMatch(/^LAMP +COLOR +ROOM +LIT\napp_\w+ +red +Hall +now\n$/)
    expect(said).toEqual([`${ID} is red now`])
  })

  test('shows what fits into a line where nobody chose', async () => {
    const { calls, printed } = await svc(listLamps, ['--color', 'blue'], { lamps: [LAMP] })
    expect(calls).toEqual([['listLamps', { color: 'blue', limit: undefined, cursor: undefined }]])
    expect(printed).toMatch(/^ID +COLOR +LIT\napp_\w+ +red +now\n$/)
  })

  test.each([
    [changeLamp, [], 'requires <lamp_id>: app_…'],
    [changeLamp, [ID, '--yes'], 'Missing option --on'],
    [changeLamp, [ID, '--on'], 'Confirmation required. This changes app_'],
    [changeLamp, [ID, '--on', '--off'], '--on conflicts with --off'],
    [changeLamp, [ID, '--on', '--watts', '10'], 'Invalid value for --watts: 10'],
    [changeLamp, [ID, '--on', '--tag', 'short', '--tag', 'longer'], 'The value of --tag is too long'],
    [changeLamp, [ID, '--on', '--labels', 'x'], 'Invalid value for --labels: x'],
    [changeLamp, [ID, '--on', '--until', 'soon'], 'Invalid value for --until: soon'],
    [listLamps, ['--color', 'green'], 'Invalid value for --color: green'],
  ] as const)('%#: a mistake is told before anything is sent', async (operation, argv, message) => {
    await expect(svc(operation as Operation, argv, LAMP)).rejects.toThrow(message)
  })

  test.each([
    ['a field that the answer does not have', { table: 'colour' }, 'answers no colour'],
    ['a format that nobody wrote', { table: 'color:bold' }, 'no format bold'],
    ['a field that the input does not have', { arguments: ['lamp'] }, 'no field is named lamp'],
  ])('%s is a mistake of the contract', (_what, change, message) => {
    const [command] = [changeLamp.command!].flat()
    const wrong = { ...changeLamp, command: { ...command, ...change } } as unknown as Operation
    expect(() => made(wrong)).toThrow(message)
  })
})

test('every operation with a command has help with examples', () => {
  const declared = (OPERATIONS as readonly Operation[]).flatMap(({ command }) => [command ?? []].flat())
  expect(declared.length).toBeGreaterThan(90)
  const paths = new Set(COMMANDS.map(({ path }) => path))
  expect(declared.map(({ path }) => path).filter((path) => !paths.has(path))).toEqual([])
  for (const command of COMMANDS) {
    expect(commandHelp(command)).toMatch(/^[A-Z].+\.\n\nUsage:\n {2}svc .+\n\nExamples:\n {2}\S/)
  }
})
