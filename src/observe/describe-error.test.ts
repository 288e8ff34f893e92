import { QueryError } from '../../db/drizzle.ts'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { describeError } from './describe-error.ts'

const SECRET = 'ada@example.com'

/** Built as the driver builds it; the class itself is not exported with its constructor. */
const postgresError = (code: string, message: string): Error =>
  Object.assign(Object.create(postgres.PostgresError.prototype) as Error, {
    name: 'PostgresError',
    message,
    code,
    detail: `Key (email)=(${SECRET}) already exists.`,
    where: `unnamed portal parameter $1 = '${SECRET}'`,
    constraint_name: 'users_email_key',
    query: 'insert into users values ($1)',
    parameters: [SECRET],
    args: [SECRET],
    stack: `PostgresError: ${message}\n    at connection (file:///connection.js:1:1)`,
  })

test('a failed query is told by its text, never by its parameters', () => {
  const cause = postgresError('23505', `duplicate key value ${SECRET}`)
  const told = describeError(new QueryError('insert into users values ($1)', [SECRET], cause))
  expect(JSON.stringify(told)).not.toContain(SECRET)
  expect(told).toMatchObject({
    message: 'Failed query: insert into users values ($1)',
    cause: {
      name: 'PostgresError',
      message: 'Postgres error 23505',
      code: '23505',
      constraint: 'users_email_key',
    },
  })
})

test.each(['22001', '22003', '22007', '22P02', '23502', '23503', '23505', '23514', '23P01'])(
  'the words of Postgres error %s quote a value and are left out',
  (code) => {
    const told = describeError(postgresError(code, `invalid input syntax: "${SECRET}"`))
    expect(told).toMatchObject({ message: `Postgres error ${code}`, code })
    expect(JSON.stringify(told)).not.toContain(SECRET)
  },
)

test('what other Postgres errors say is kept: it names objects and conditions', () => {
  expect(describeError(postgresError('42P01', 'relation "users" does not exist'))).toMatchObject({
    message: 'relation "users" does not exist',
    code: '42P01',
  })
})

test('the stack is told by its frames, because its first line repeats the message', () => {
  const error = new Error(`first line\n    of ${SECRET}`)
  const told = describeError(postgresError('23505', error.message)) as { stack: string }
  expect(told.stack).toBe('    at connection (file:///connection.js:1:1)')
  const deep = new Error('deep')
  deep.stack = `Error: deep\n${Array.from({ length: 50 }, (_, at) => `    at frame${at} (x.js:1:1)`).join('\n')}`
  expect((describeError(deep) as { stack: string }).stack.split('\n')).toHaveLength(12)
})

test('causes are followed, but not round in circles', () => {
  const round = new Error('round')
  round.cause = round
  const text = JSON.stringify(describeError(round))
  expect(text.match(/"message":"round"/g)).toHaveLength(6)
})

test('all failures of several are told', () => {
  const told = describeError(
    new AggregateError([new Error('one'), postgresError('23505', SECRET)], 'both failed'),
  )
  expect(told).toMatchObject({
    message: 'both failed',
    errors: [{ message: 'one' }, { message: 'Postgres error 23505' }],
  })
  expect(JSON.stringify(told)).not.toContain(SECRET)
})

test('what is no error is told by its kind: its content is unknown', () => {
  expect(describeError({ token: SECRET })).toBe('a thrown object')
  expect(describeError(7)).toBe('a thrown number')
  expect(describeError(null)).toBe('a thrown object')
  expect(describeError('words of our own')).toBe('words of our own')
  expect(describeError(undefined)).toBeUndefined()
})
