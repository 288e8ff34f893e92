/** Command lines: what they mean, and what is said about those that mean nothing. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ACTIVITY_OUTCOMES, ACTIVITY_TYPES } from '../contracts/activity.ts'
import { CHANNELS, DELIVERY_STATES } from '../contracts/deliveries.ts'
import { ServiceError } from '../contracts/errors.ts'
import { CATEGORIES, TIMINGS } from '../contracts/events.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS } from './commands.ts'
import { parse } from './parse.ts'

function mistake(line: string): string {
  try {
    parse(words(line))
  } catch (error) {
    if (error instanceof ServiceError) return `${error.code}: ${error.message} | ${error.hint}`
    throw error
  }
  throw new Error(`${line} was taken`)
}

/** As a shell would split it, with double quotes. */
const words = (line: string): string[] =>
  [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)

describe('a command line', () => {
  test('names its command, its arguments and its options, which may stand before it', () => {
    const { command, call } = parse(
      words('--json datasource query db_x "how many?" --filter a=1 --filter b=2 --context=work -o json'),
    )
    expect(command.path).toBe('datasource query')
    expect(call.args).toEqual({ source_id: 'db_x', question: 'how many?' })
    expect({ ...call.options }).toEqual({
      json: true,
      filter: ['a=1', 'b=2'],
      context: 'work',
      output: 'json',
    })
  })

  test('a value of an option before the command is no command', () => {
    expect(parse(words('--context status datasource list')).command.path).toBe('datasource list')
    expect(parse(words('-o json status')).command.path).toBe('status')
  })

  test('what begins with a dash can be an argument after --', () => {
    expect(parse(['datasource', 'query', 'db_x', '--', '--why?']).call.args['question']).toBe('--why?')
  })

  test('- stands for stdin', () => {
    expect(parse(words('login --api-key - --api-url http://localhost')).call.options['api-key']).toBe('-')
  })

  test.each([
    ['datasorce list', 'There is no command datasorce | Did you mean svc datasource? Run: svc --help'],
    ['frobnicate', 'There is no command frobnicate | Run: svc --help'],
    ['toString', 'There is no command toString | Run: svc --help'],
    ['db', 'svc db is not a whole command | There are: svc db list, svc db create'],
    ['db destroy', 'There is no command db destroy | There are: svc db list'],
    [
      'db create',
      'svc db create needs <name>: A lower-case letter, then up to 40 of a-z, 0-9 and _ | For example:',
    ],
    ['db create ""', '<name> must not be empty | For example: svc db create handbook'],
    ['status now', 'svc status does not know what to do with: now | For example: svc status'],
    [
      'datasource query db_x how many',
      'svc datasource query does not know what to do with: many | Put what has spaces in it between quotes.',
    ],
    ['datasource list --serch x', 'svc datasource list has no option --serch | Did you mean --search?'],
    ['datasource list -x', 'svc datasource list has no option -x | Run: svc datasource list --help'],
    ['status --json=yes', '--json takes no value | Run: svc status --help'],
    ['status --context', '--context needs a value | Write --context <name>, or --context=<name>'],
    ['datasource query db_x q --top-k -1', '--top-k needs a value | Write --top-k <n>, or --top-k=<n>'],
    ['status -o xml', '--output cannot be xml | It is one of: table, json, yaml'],
    ['completion tcsh', '<shell> cannot be tcsh | It is one of: bash, zsh, fish, powershell'],
    [
      'notifications follow app --category Tickets --category Gossip',
      '--category cannot be Gossip | It is one of',
    ],
    ['activity --type tool', '--type cannot be tool | It is one of: function, data_source'],
  ])('%s', (line, said) => {
    expect(mistake(line)).toContain(`INVALID_REQUEST: ${said}`)
  })

  test('whatever is typed, the answer is a command or a sentence', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom('--', '-', '-o', '--json', '--context', '--filter', '__proto__', 'constructor'),
      fc.constantFrom(...COMMANDS.flatMap(({ path }) => path.split(' '))),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (argv) => {
        try {
          expect(COMMANDS).toContain(parse(argv).command)
        } catch (error) {
          expect(error).toBeInstanceOf(ServiceError)
          expect((error as ServiceError).hint).toMatch(/\S/)
        }
      }),
    )
  })
})

describe('the table of commands', () => {
  test('every path is a word, or a group and a word', () => {
    for (const { path } of COMMANDS) expect(path).toMatch(/^[a-z]+( [a-z]+)?$/)
    const groups = new Set(COMMANDS.flatMap(({ path }) => (path.includes(' ') ? [path.split(' ')[0]] : [])))
    expect([...groups]).toEqual(expect.arrayContaining(Object.keys(GROUPS)))
    expect(groups.size).toBe(Object.keys(GROUPS).length)
    expect(new Set(COMMANDS.map(({ path }) => path)).size).toBe(COMMANDS.length)
  })

  test.each(COMMANDS)(
    '$path: its examples are command lines of it, and no option stands twice',
    (command) => {
      expect(command.examples.length).toBeGreaterThan(0)
      for (const example of command.examples) {
        const line = /svc [^|<>)]*/.exec(example)![0].slice('svc '.length)
        expect(parse(words(line)).command.path).toBe(command.path)
      }
      const names = [...(command.options ?? []), ...GLOBAL_OPTIONS].flatMap(({ long, short }) => [
        long,
        short ?? long,
      ])
      const longs = [...(command.options ?? []), ...GLOBAL_OPTIONS].map(({ long }) => long)
      expect(new Set(longs).size).toBe(longs.length)
      expect(names.filter((name) => name.length === 1).length).toBe(
        new Set(names.filter((name) => name.length === 1)).size,
      )
      if (command.listedBy !== undefined) expect(COMMANDS.map(({ path }) => path)).toContain(command.listedBy)
    },
  )

  test('choices are those of the contracts', () => {
    const choicesOf = (path: string, name: string) =>
      COMMANDS.find((one) => one.path === path)!.options!.find(({ long }) => long === name)!.choices
    expect(choicesOf('activity', 'type')).toEqual(ACTIVITY_TYPES)
    expect(choicesOf('activity', 'outcome')).toEqual(ACTIVITY_OUTCOMES)
    expect(choicesOf('notifications follow', 'category')).toEqual(CATEGORIES)
    expect(choicesOf('notifications follow', 'frequency')).toEqual(TIMINGS)
    expect(choicesOf('notifications deliveries', 'state')).toEqual(DELIVERY_STATES)
    expect(choicesOf('notifications deliveries', 'channel')).toEqual(CHANNELS)
  })
})
