import { expect, test } from 'vitest'
import * as z from 'zod'
import { readAttachRules } from './attach-rules.ts'

const AttachRules = z.string().transform(readAttachRules)

test.each([
  ['10.0.0.0/8', { family: 'ipv4', network: '10.0.0.0', prefix: 8 }],
  ['10.0.0.0/8:5432', { family: 'ipv4', network: '10.0.0.0', prefix: 8, port: 5432 }],
  ['10.1.2.3', { family: 'ipv4', network: '10.1.2.3', prefix: 32 }],
  ['10.1.2.3:6000', { family: 'ipv4', network: '10.1.2.3', prefix: 32, port: 6000 }],
  ['0.0.0.0/0', { family: 'ipv4', network: '0.0.0.0', prefix: 0 }],
  ['2001:db8::/32', { family: 'ipv6', network: '2001:db8::', prefix: 32 }],
  ['[2001:db8::]/32:5432', { family: 'ipv6', network: '2001:db8::', prefix: 32, port: 5432 }],
  ['[::1]:5432', { family: 'ipv6', network: '::1', prefix: 128, port: 5432 }],
  ['::1', { family: 'ipv6', network: '::1', prefix: 128 }],
  ['DB.Example.com', { host: 'db.example.com' }],
  ['db:5432', { host: 'db', port: 5432 }],
])('%s is a rule', (text, rule) => {
  expect(AttachRules.parse(text)).toEqual([rule])
})

test.each([
  '10.0.0.0/33',
  '10.0.0/8',
  '10.0.0.0/8/8',
  '300.1.1.1',
  '10.0.0.1:0',
  '10.0.0.1:70000',
  'db:port',
  '2001:db8::/129',
  '[10.0.0.1]',
  '[db]:5432',
  '*.example.com',
  'db.example.com/8',
  'postgres://db',
  'a b',
  '-',
])('%s is none, and is named', (text) => {
  const { error } = AttachRules.safeParse(text)
  expect(error?.issues.map(({ message }) => message)).toEqual([expect.stringContaining(text)])
})

test('a list has commas, and every bad entry is a problem of its own', () => {
  expect(AttachRules.parse(' 10.0.0.0/8, db:5432 ,')).toHaveLength(2)
  expect(AttachRules.parse('')).toEqual([])
  expect(AttachRules.safeParse('1.1.1.1,a b,10.0.0.0/99').error?.issues).toHaveLength(2)
})
