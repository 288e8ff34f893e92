import { describe, expect, test } from 'vitest'
import { safeNext } from './safe-next.ts'

const APP = new URL('https://app.svc.example')

describe('where sign-in may lead', () => {
  test.each([
    ['/console', '/console'],
    ['/console/members', '/console/members'],
    ['/console/members?role=admin&search=a%2Fb', '/console/members?role=admin&search=a%2Fb'],
    ['/console?next=//evil.example', '/console?next=//evil.example'],
    ['/console/settings/../members', '/console/members'],
  ])('%s is a page of ours', (next, goes) => {
    expect(safeNext(next, APP)).toBe(goes)
  })

  /** An open redirect would let a link to us hand a person who has just signed in to somebody else. */
  test.each([
    undefined,
    '',
    'https://evil.example/console',
    '//evil.example/console',
    '/\\evil.example',
    '/console\\..\\..\\evil',
    '\\\\evil.example',
    '/console//evil.example',
    '/console/../../evil',
    '/console/..//evil.example',
    '/console/%2e%2e/api/v1/me',
    '/console/..%2f..%2fevil'.replaceAll('%2f', '/'),
    '/consolation',
    '/console.evil.example',
    '/console@evil.example',
    'javascript:alert(1)',
    '/console\n/members',
    '\t/console',
    ' /console',
    '/console?a=\u0000',
    '/api/v1/me',
    '/',
    `/console/${'a'.repeat(3000)}`,
  ])('%j leads home instead', (next) => {
    expect(safeNext(next, APP)).toBe('/console')
  })

  test.each(['/console/sign-in', '/console/sign-in/done?code=1', '/console/sign-out', '/console/signed-out'])(
    '%s would go in circles',
    (next) => {
      expect(safeNext(next, APP)).toBe('/console')
    },
  )
})
