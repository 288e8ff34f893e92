import fc from 'fast-check'
import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { readAttachRules } from '../../src/contracts/attach-rules.ts'
import { allowedAddresses, includeOwnServer, parseAttachedUrl } from './attached-address.ts'

const rules = (text: string) => z.string().transform(readAttachRules).parse(text)
const problemsOf = (text: string): string[] => {
  const read = parseAttachedUrl(text)
  return 'problems' in read ? read.problems : []
}

test('an address is taken apart', () => {
  expect(
    parseAttachedUrl('postgresql://me:p%40ss%2F@DB.Example.com:6000/my%20db?sslmode=verify-full'),
  ).toEqual({
    host: 'db.example.com',
    port: 6000,
    user: 'me',
    password: 'p@ss/',
    database: 'my db',
    ssl: 'verify-full',
  })
})

test.each([
  ['postgres://u:p@db.example.com/d', 'db.example.com', 5432, 'require'],
  ['postgres://u:p@10.0.0.7/d', '10.0.0.7', 5432, 'require'],
  ['postgres://u:p@localhost/d', 'localhost', 5432, 'disable'],
  ['postgres://u:p@127.0.0.9:1/d', '127.0.0.9', 1, 'disable'],
  ['postgres://u:p@[::1]/d', '::1', 5432, 'disable'],
  ['postgres://u:p@[2001:db8::1]:5433/d', '2001:db8::1', 5433, 'require'],
  ['postgres://u:p@localhost/d?sslmode=require', 'localhost', 5432, 'require'],
  ['postgres://u:p@db/d?sslmode=disable', 'db', 5432, 'disable'],
])('%s goes to %s port %i, TLS: %s', (text, host, port, ssl) => {
  expect(parseAttachedUrl(text)).toMatchObject({ host, port, ssl })
})

test.each([
  ['mysql://u:p@h/d', 'form'],
  ['http://u:p@h/d', 'form'],
  ['h', 'form'],
  ['', 'form'],
  ['postgres://u:p@h1,h2/d', 'one host'],
  ['postgres://u:p@h1:1,h2:2/d', 'form'],
  ['postgres://u:p@%2Fvar%2Frun/d', 'one host'],
  ['postgres://u:p@/d', 'form'],
  ['postgres://u:p@0x7f000001/d', 'one host'],
  ['postgres://u:p@2130706433/d', 'one host'],
  ['postgres://u:p@127.1/d', 'one host'],
  ['postgres://u:p@[fe80::1%25eth0]/d', 'form'],
  ['postgres://u:p@h:0/d', 'port'],
  ['postgres://u:p@h:70000/d', 'form'],
  ['postgres://u:p@h/d?host=/var/run', 'parameter host'],
  ['postgres://u:p@h/d?hostaddr=10.0.0.1', 'parameter hostaddr'],
  ['postgres://u:p@h/d?options=-c%20x=y', 'parameter options'],
  ['postgres://u:p@h/d?service=x', 'parameter service'],
  ['postgres://u:p@h/d?passfile=/etc/passwd', 'parameter passfile'],
  ['postgres://u:p@h/d?sslkey=/k', 'parameter sslkey'],
  ['postgres://u:p@h/d?application_name=x', 'parameter application_name'],
  ['postgres://u:p@h/d?sslmode=prefer', 'sslmode must be'],
  ['postgres://u:p@h/d?sslmode=', 'sslmode must be'],
  ['postgres://u:p@h/d?sslmode=require&sslmode=disable', 'more than once'],
  ['postgres://u:p@h/', 'needs a database'],
  ['postgres://u:p@h', 'needs a database'],
  ['postgres://u:p@h/a/b', 'slashes'],
  ['postgres://u@h/d', 'needs a password'],
  ['postgres://:p@h/d', 'needs a user'],
  ['postgres://u:p@h/d#', '%23'],
  ['postgres://u%00:p@h/d', 'user is not'],
  ['postgres://u:p%0a@h/d', 'password is not'],
  ['postgres://u:%ff@h/d', 'password is not'],
  ['postgres://u:p@h/d%00options', 'database is not'],
  ['postgres://u:p@h/d\0', 'control'],
  ['postgres://u:p@h\t/d', 'control'],
  ['postgres://u:p@h\\@evil/d', 'backslashes'],
  [`postgres://u:p@h/${'d'.repeat(3_000)}`, 'too long'],
])('%j is refused: %s', (text, says) => {
  expect(problemsOf(text)).toEqual([expect.stringContaining(says)])
})

test('every problem is told at once', () => {
  expect(problemsOf('postgres://a,b:0/?options=x&sslmode=maybe')).toHaveLength(7)
})

test('no sentence holds a part of the password, wherever it ended up', () => {
  const secret = fc.stringMatching(/^[a-z]{3}[a-z?#/@:&=%]{0,8}[a-z]{3}$/)
  fc.assert(
    fc.property(secret, (password) => {
      const said = problemsOf(`postgres://me:12?zq${password}=1@h:0/d?zq${password}`).join(' ')
      expect(said).not.toContain('zq')
    }),
  )
})

const names = async (host: string): Promise<string[]> =>
  ({
    'db.example.com': ['10.0.0.1', '192.168.0.1', '2001:db8::1'],
    'mapped.example.com': ['::ffff:10.0.0.1', '::ffff:a00:1'],
  })[host] ?? []

test.each([
  ['', 'db.example.com', []],
  ['10.0.0.0/8', 'db.example.com', ['10.0.0.1']],
  ['10.0.0.0/8:5432', 'db.example.com', ['10.0.0.1']],
  ['10.0.0.0/8:5433', 'db.example.com', []],
  ['10.0.0.0/8,2001:db8::/32', 'db.example.com', ['10.0.0.1', '2001:db8::1']],
  ['db.example.com', 'db.example.com', ['10.0.0.1', '192.168.0.1', '2001:db8::1']],
  ['db.example.com:1', 'db.example.com', []],
  ['db.example.com', '10.0.0.1', []],
  ['10.0.0.0/8', '10.255.255.255', ['10.255.255.255']],
  ['10.0.0.0/8', '11.0.0.0', []],
  ['10.0.0.0/8', 'unknown.example.com', []],
  ['127.0.0.1', 'localhost', ['127.0.0.1']],
  ['::/0,10.0.0.0/8', 'mapped.example.com', []],
  ['::/0', '::ffff:127.0.0.1', []],
  ['0.0.0.0/0', '::1', []],
])('with the list %j, %s may be reached at %j', async (list, host, addresses) => {
  expect(await allowedAddresses(host, 5432, rules(list), names)).toEqual(addresses)
})

test('a list that allows nothing on a port asks no name server', async () => {
  const asked = (): Promise<string[]> => Promise.reject(new Error('asked'))
  expect(await allowedAddresses('db.example.com', 5432, rules('10.0.0.0/8:1'), asked)).toEqual([])
})

const OURS = [
  { host: 'localhost', port: 5432 },
  { host: 'db.example.com', port: 5433 },
  { host: '[2001:db8::7]', port: 5434 },
]
const outside = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address

test.each([
  ['127.0.0.1', 5432, true],
  ['127.0.0.77', 5432, true],
  ['::1', 5432, true],
  ['0.0.0.0', 5432, true],
  ['127.0.0.1', 5433, false],
  ['10.0.0.1', 5433, true],
  ['2001:db8:0::1', 5433, true],
  ['2001:db8::7', 5434, true],
  ['10.0.0.1', 5432, false],
  ['10.0.0.2', 5433, false],
  ...(outside ? [[outside, 5432, true] as [string, number, boolean]] : []),
] as [string, number, boolean][])('%s port %i is one of our own: %s', async (address, port, expected) => {
  expect(await includeOwnServer([address], port, OURS, names)).toBe(expected)
})
