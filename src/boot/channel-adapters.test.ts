import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startMailServer } from '../../test/support/mail-server.ts'
import { createChannelAdapters } from './channel-adapters.ts'
import { readConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-ways-out-'))
afterAll(() => rmSync(folder, { recursive: true }))

const pem = { type: 'pkcs8', format: 'pem' } as const
const RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export(pem).toString()
const EC_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem).toString()

function fileWith(text: string): string {
  const file = join(folder, `${Math.random()}.pem`)
  writeFileSync(file, text)
  return file
}

const MAIL = {
  messageId: 'msg_1',
  to: 'dev@people.test',
  subject: 'x',
  text: 'x',
  html: '<p>x</p>',
  threadKey: null,
  listId: 'x.org_1',
  unsubscribeUrl: 'https://svc.test/unsubscribe/x',
}

const mailing = (url: string, env: Record<string, string>) =>
  createChannelAdapters(readConfig({ SMTP_URL: url, MAIL_FROM: 'svc <notify@Acme.test>', ...env }))

test('without settings there is no mail and no chat app, and nothing private may be reached', async () => {
  const { channels, chatApp, checks } = await createChannelAdapters(readConfig({}))
  expect([channels.email, chatApp]).toEqual([null, null])
  expect(await checks.isAllowed('http://127.0.0.1:4000/', 'org_1')).toBe(false)
  expect(await checks.isAllowed('https://169.254.169.254/', 'org_1')).toBe(false)
})

test('mail is signed by the key in the setting or in a file, for the sender’s domain or another', async () => {
  const server = await startMailServer()
  const signed = [
    { DKIM_PRIVATE_KEY: RSA_KEY.replaceAll('\n', '\\n') },
    { DKIM_PRIVATE_KEY: fileWith(RSA_KEY), DKIM_DOMAIN: 'mail.acme.test' },
  ]
  for (const [at, env] of signed.entries()) {
    const channelAdapters = await mailing(server.url, { DKIM_SELECTOR: 'k1', ...env })
    expect(await channelAdapters.channels.email!(MAIL)).toEqual({ kind: 'sent' })
    const raw = server.arrived[at]!.raw.toString()
    expect(raw).toMatch(new RegExp(`d=${env.DKIM_DOMAIN ?? 'acme.test'};`))
    await channelAdapters.close()
  }
  await server.close()
})

test.each([
  ['a file that is not there', join(folder, 'missing.pem'), 'the file cannot be read'],
  ['a file with another kind of key', fileWith(EC_KEY), 'the file holds no RSA private key in PEM'],
])('%s is found out at the start, and not repeated', async (_what, DKIM_PRIVATE_KEY, problem) => {
  const starting = mailing('smtp://127.0.0.1:1', { DKIM_SELECTOR: 'k1', DKIM_PRIVATE_KEY })
  await expect(starting).rejects.toMatchObject({ problems: [`DKIM_PRIVATE_KEY: ${problem}`] })
})

test('people come back from the chat service to pages of the console', async () => {
  const { chatApp } = await createChannelAdapters(
    readConfig({ CHAT_CLIENT_ID: 'c', CHAT_CLIENT_SECRET: 's', APP_URL: 'https://app.acme.test' }),
  )
  const back = (url: string) => new URL(url).searchParams.get('redirect_uri')
  expect(chatApp!.installUrl('x')).toMatch(/^https:\/\/slack\.com\/oauth\/v2\/authorize\?/)
  expect([
    back(chatApp!.installUrl('x')),
    back(chatApp!.linkUrl({ state: 'x', nonce: 'y', teamId: 'T' })),
  ]).toEqual([
    'https://app.acme.test/console/integrations/chat/callback',
    'https://app.acme.test/console/profile/notifications/chat/callback',
  ])
})
