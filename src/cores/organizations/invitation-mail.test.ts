import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import { nameInMail } from '../mail-text.ts'
import { invitationMail } from './invitation-mail.ts'

test.each([
  ['Acme Inc.', 'Acme Inc'],
  ['Ärger & Söhne (Wien), GmbH', 'Ärger & Söhne (Wien), GmbH'],
  ['O’Brien-Smith', 'O’Brien-Smith'],
  ['日本の会社', '日本の会社'],
  ['Studio 54', 'Studio 54'],
  ['Win now: https://evil.test/a?b', 'Win now https evil test a b'],
  ['evil.test', 'evil test'],
  ['evil。test', 'evil test'],
  ['evil．test', 'evil test'],
  ['ｅｖｉｌ．ｔｅｓｔ', 'evil test'],
  ['me@evil.test', 'me evil test'],
  ['Call +1 (800) 555-0199 now', 'Call now'],
  ['Call 1.800.555.0199', 'Call'],
  ['“Acme” on svc\nHello', 'Acme on svc Hello'],
  ['🎉🎉', 'unnamed'],
  ['x'.repeat(120), `${'x'.repeat(40)}…`],
])('%s is written %s', (name, written) => {
  expect(nameInMail(name)).toBe(written)
})

test('whatever two names say, the mail has one link and the words are ours', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 120 }),
    fc.webUrl(),
    fc.emailAddress(),
    fc.domain(),
  )
  fc.assert(
    fc.property(name, name, (organization, inviter) => {
      const link = 'https://svc.test/auth/invitation/secret'
      const { subject, text, html } = invitationMail({
        to: 'a@b.test',
        organization,
        inviter,
        role: 'viewer',
        link,
      })
      const rest = `${subject}\n${text}`.replace(link, '')
      const ours = ['names.\n', 'join:\n', 'nothing: ', 'itself.', 'viewer. ']
      const foreign = ours.reduce((left, word) => left.replaceAll(word, ''), rest)
      expect(foreign).not.toMatch(/[.:/@\\]|\d{7}/)
      expect(subject.length).toBeLessThan(200)
      expect([...html.matchAll(/href="([^"]*)"/g)].map(([, url]) => url)).toEqual([link])
    }),
    { numRuns: inject('everyCase') ? 40 : 10 },
  )
})
