/** Command lines: how they are parsed, and the errors for those that are wrong. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CATEGORIES, CHANNEL_NAMES, DELIVERY_STATES, TIMINGS } from '../contracts/channels.ts'
import { ServiceError } from '../contracts/errors.ts'
import { ACTIVITY_OUTCOMES, ACTIVITY_TYPE_FILTERS } from '../contracts/list-filters.ts'
import { SCOPE_NAMES } from '../contracts/scopes.ts'
import { COMMANDS, GLOBAL_OPTIONS, GROUPS } from './command-table.ts'
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
    const { command, input } = parse(
      words('--json datasource query db_x "how many?" --filter a=1 --filter b=2 --context=work -o json'),
    )
    expect(command.path).toBe('datasource query')
    expect(input.args).toEqual({ source_id: 'db_x', question: 'how many?' })
    expect({ ...input.options }).toEqual({
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
    expect(parse(['datasource', 'query', 'db_x', '--', '--why?']).input.args['question']).toBe('--why?')
  })

  test('what follows -- goes to another program, where a command starts one', () => {
    const { input } = parse(['db', 'psql', '--json', 'handbook', '--', '-At', '-c', 'select 1'])
    expect(input.args).toEqual({ name: 'handbook' })
    expect(input.rest).toEqual(['-At', '-c', 'select 1'])
    expect(parse(['db', 'psql', 'handbook']).input.rest).toEqual([])
    expect(mistake('db psql handbook -At')).toBe(
      'INVALID_REQUEST: Unknown option for svc db psql: -A | Put what is for the other program after --. Run: svc db psql --help',
    )
  })

  test.each([
    ['whoami', 'svc status'],
    ['version', 'svc --version'],
  ])('svc %s is called %s here', (word, instead) => {
    expect(mistake(word)).toBe(
      `INVALID_REQUEST: Unknown command: ${word} | Did you mean ${instead}? Run: svc --help`,
    )
  })

  test('a third word is part of the command, unless it is told that it is not', () => {
    const parsed = (line: string) => {
      const { command, input } = parse(words(line))
      return [command.path, input.args['app']]
    }
    expect(parsed('apps tokens billing')).toEqual(['apps tokens', 'billing'])
    expect(parsed('--json apps tokens create billing --scope apps:run')).toEqual([
      'apps tokens create',
      'billing',
    ])
    expect(parsed('apps tokens --json billing')).toEqual(['apps tokens', 'billing'])
    expect(parsed('apps tokens -- create')).toEqual(['apps tokens', 'create'])
  })

  test('- stands for stdin', () => {
    expect(parse(words('login --api-key - --api-url http://localhost')).input.options['api-key']).toBe('-')
  })

  test.each([
    ['datasorce list', 'Unknown command: datasorce | Did you mean svc datasource? Run: svc --help'],
    [
      'datasource qurey',
      'Unknown command: datasource qurey | Did you mean svc datasource query? Available: svc',
    ],
    ['--bogus', 'Unknown option: --bogus | Run: svc --help'],
    ['--versoin', 'Unknown option: --versoin | Did you mean --version? Run: svc --help'],
    ['--jsno', 'Unknown option: --jsno | Did you mean --json? Run: svc --help'],
    ['--json', 'A command is missing | Run: svc --help'],
    ['frobnicate', 'Unknown command: frobnicate | Run: svc --help'],
    ['toString', 'Unknown command: toString | Run: svc --help'],
    ['db', 'Missing subcommand: svc db <command> | Available: svc db list, svc db show, svc db create'],
    ['db destroy', 'Unknown command: db destroy | Available: svc db list'],
    ['db creat', 'Unknown command: db creat | Did you mean svc db create? Available: svc db list'],
    ['apps', 'Missing subcommand: svc apps <command> | Run: svc apps --help'],
    ['apps tickets', 'Unknown command: apps tickets | Run: svc apps --help'],
    ['apps tokens create', 'svc apps tokens create requires <app>: Alias'],
    [
      'apps tokens creat billing',
      'Unexpected argument for svc apps tokens: billing | Did you mean svc apps tokens create? Quote text',
    ],
    [
      'db create',
      'svc db create requires <name>: Lowercase letter, then up to 40 of a-z, 0-9 and _ | Example:',
    ],
    ['db create ""', '<name> must not be empty | Example: svc db create handbook'],
    ['status now', 'Unexpected argument for svc status: now | Example: svc status'],
    [
      'datasource query db_x how many',
      'Unexpected argument for svc datasource query: many | Quote text that contains spaces.',
    ],
    ['datasource list --serch x', 'Unknown option for svc datasource list: --serch | Did you mean --search?'],
    ['datasource list -x', 'Unknown option for svc datasource list: -x | Run: svc datasource list --help'],
    ['status --json=yes', '--json does not take a value | Run: svc status --help'],
    ['status --context', '--context requires a value | Use --context <name>, or --context=<name>'],
    ['datasource query db_x q --top-k -1', '--top-k requires a value | Use --top-k <n>, or --top-k=<n>'],
    ['status -o xml', 'Invalid value for --output: xml | Must be one of: table, json, yaml'],
    ['completion tcsh', 'Invalid value for <shell>: tcsh | Must be one of: bash, zsh, fish, powershell'],
    [
      'notifications follow app --category Tickets --category Gossip',
      'Invalid value for --category: Gossip | Must be one of',
    ],
    ['activity --type tool', 'Invalid value for --type: tool | Must be one of: function, data_source'],
  ])('%s', (line, expected) => {
    expect(mistake(line)).toContain(`INVALID_REQUEST: ${expected}`)
  })

  test('whatever is typed, the result is a command or an error with a hint', () => {
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
  test('every path is a word, or a group and one word or two', () => {
    for (const { path } of COMMANDS) expect(path).toMatch(/^[a-z]+( [a-z]+(-[a-z]+)*){0,2}$/)
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
    expect(choicesOf('activity', 'type')).toEqual(ACTIVITY_TYPE_FILTERS)
    expect(choicesOf('agents narrow', 'scope')).toEqual(SCOPE_NAMES)
    expect(choicesOf('activity', 'outcome')).toEqual(ACTIVITY_OUTCOMES)
    expect(choicesOf('notifications follow', 'category')).toEqual(CATEGORIES)
    expect(choicesOf('notifications follow', 'frequency')).toEqual(TIMINGS)
    expect(choicesOf('notifications deliveries', 'state')).toEqual(DELIVERY_STATES)
    expect(choicesOf('notifications deliveries', 'channel')).toEqual(CHANNEL_NAMES)
  })
})
