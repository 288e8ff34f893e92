/** Against a chat service that speaks like Slack, over real sockets. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFakeChat, type FakeChat } from '../../../test/support/fake-chat.ts'
import type { ChatApp } from '../../cores/notifications/channels/channel-ports.ts'
import { outbound, toOperatorAddress, type Posted } from '../outbound/guarded-post.ts'
import { chatApp } from './chat-app.ts'
import { sendDirectMessage } from './direct-message.ts'
import { sendChatWebhook } from './incoming-webhook.ts'
import { webApi } from './web-api.ts'

let chat: FakeChat
beforeAll(async () => {
  chat = await startFakeChat()
})
afterAll(() => chat.close())
beforeEach(() => chat.misbehave({}))

const { post } = outbound({ allowNets: ['127.0.0.1'] })
const LINE = 'billing: a ticket was filed <https://app.acme.test/console/x|Open>'
const answered = (status: number, text: string, retryAfterSeconds?: number): Posted => ({
  kind: 'answered',
  status,
  text,
  retryAfterSeconds,
})
const ANSWERLESS: [Posted, object][] = [
  [{ kind: 'unknown' }, { kind: 'unknown' }],
  [
    { kind: 'not_sent', because: 'not_reached' },
    { kind: 'refused', reason: 'not_reached', retry: true },
  ],
  [
    { kind: 'not_sent', because: 'address' },
    { kind: 'refused', reason: 'address_refused', retry: true },
  ],
]

describe('an incoming webhook', () => {
  const send = sendChatWebhook(post)

  test('puts the line into its channel as it is', async () => {
    const url = chat.makeWebhook('#ops')
    expect(await send({ url, text: LINE })).toEqual({ kind: 'sent', httpStatus: 200, responseWithheld: true })
    expect(chat.lines.at(-1)).toEqual({ channel: '#ops', text: LINE })
  })

  test('that was deleted is a lost connection', async () => {
    const url = `${chat.url}/services/T1/B9/nothing`
    expect(await send({ url, text: LINE })).toMatchObject({ reason: 'integration_lost', retry: false })
  })

  test.each([
    [403, 'invalid_token', 'integration_lost', false],
    [404, 'no_service', 'integration_lost', false],
    [404, 'no_service_id', 'integration_lost', false],
    [404, 'no_active_hooks', 'integration_lost', false],
    [403, 'no_active_hooks', 'integration_lost', false],
    [404, 'no_team', 'integration_lost', false],
    [404, 'channel_not_found', 'integration_lost', false],
    [410, 'channel_is_archived', 'integration_lost', false],
    [403, 'team_disabled', 'integration_lost', false],
    [404, '<html>nothing here</html>', 'integration_lost', false],
    [410, '', 'integration_lost', false],
    [400, '{"id":"web.incoming_webhook.invalid.app_error","message":"x"}', 'integration_lost', false],
    [403, '{"id":"web.incoming_webhook.disabled.app_error"}', 'integration_lost', false],
    [400, 'invalid_payload', 'refused', false],
    [400, 'no_text', 'refused', false],
    [400, 'too_many_attachments', 'refused', false],
    [400, 'user_not_found', 'refused', false],
    [403, 'action_prohibited', 'refused', false],
    [403, 'posting_to_general_channel_denied', 'refused', false],
    [400, '{"id":"web.incoming_webhook.parse.app_error"}', 'refused', false],
    [401, '{broken', 'refused', false],
    [429, '', 'rate_limited', true],
  ])('%i %s is %s, tried again: %s', async (status, says, reason, retry) => {
    const outcome = await sendChatWebhook(async () => answered(status, says, 7))({ url: 'x', text: LINE })
    expect(outcome).toEqual({ kind: 'refused', reason, retry, httpStatus: status, retryAfterSeconds: 7 })
  })

  test.each([
    [500, 'rollup_error'],
    [500, 'no_service'],
    [501, '{"id":"web.incoming_webhook.disabled.app_error"}'],
    [502, ''],
    [503, ''],
    [504, ''],
  ])('%i %s is not known: the line may stand there', async (status, says) => {
    const outcome = await sendChatWebhook(async () => answered(status, says, 7))({ url: 'x', text: LINE })
    expect(outcome).toEqual({ kind: 'unknown', httpStatus: status })
  })

  test.each(ANSWERLESS)('%j', async (posted, outcome) => {
    expect(await sendChatWebhook(async () => posted)({ url: 'x', text: LINE })).toEqual(outcome)
  })

  test('waits as long as it is asked to, and does not know what a lost answer meant', async () => {
    const url = chat.makeWebhook('#ops')
    chat.failNext('webhook', { status: 429, retryAfter: 30 })
    expect(await send({ url, text: LINE })).toMatchObject({ reason: 'rate_limited', retryAfterSeconds: 30 })
    chat.failNext('webhook', 'hang up after')
    const before = chat.lines.length
    expect(await send({ url, text: LINE })).toEqual({ kind: 'unknown' })
    expect(chat.lines.length).toBe(before + 1)
  })

  test('on a private network is not written to', async () => {
    const { post } = outbound()
    const url = chat.makeWebhook('#ops')
    expect(await sendChatWebhook(post)({ url, text: LINE })).toMatchObject({ reason: 'address_refused' })
  })
})

const appOf = (settings: { clientSecret?: string } = {}): ChatApp =>
  chatApp(
    {
      clientId: chat.clientId,
      clientSecret: chat.clientSecret,
      chatUrl: new URL(chat.url),
      installedAt: new URL('https://app.acme.test/console/installed'),
      linkedAt: new URL('https://app.acme.test/console/linked'),
      ...settings,
    },
    toOperatorAddress(),
  )

async function installed() {
  const back = await chat.walk(appOf().installUrl('state-1'))
  return (await appOf().install(back.searchParams.get('code')!))!
}

describe('installing the app', () => {
  test('asks for one channel and for messages to people, and learns both', async () => {
    const url = new URL(appOf().installUrl('state-1'))
    expect([url.origin + url.pathname, Object.fromEntries(url.searchParams)]).toEqual([
      `${chat.url}/oauth/v2/authorize`,
      {
        client_id: chat.clientId,
        scope: 'incoming-webhook,chat:write',
        redirect_uri: 'https://app.acme.test/console/installed',
        state: 'state-1',
      },
    ])
    chat.present({ team: 'T77', id: 'U1', name: 'Ada' }, '#alerts')
    const back = await chat.walk(url.href)
    expect(back.searchParams.get('state')).toBe('state-1')
    expect(await appOf().install(back.searchParams.get('code')!)).toEqual({
      teamId: 'T77',
      teamName: 'Workspace T77',
      channel: '#alerts',
      webhookUrl: expect.stringContaining('/services/'),
      botToken: expect.stringMatching(/^xoxb-/),
    })
  })

  test('a code works once, for this app, with its secret', async () => {
    const code = (await chat.walk(appOf().installUrl('s'))).searchParams.get('code')!
    expect(await appOf({ clientSecret: 'wrong' }).install(code)).toBeUndefined()
    expect(await appOf().install(code)).toBeDefined()
    expect(await appOf().install(code)).toBeUndefined()
    expect(await appOf().install('made-up')).toBeUndefined()
  })

  test('in a whole enterprise is not taken: it names no workspace', async () => {
    chat.misbehave({ enterprise: true })
    const code = (await chat.walk(appOf().installUrl('s'))).searchParams.get('code')!
    expect(await appOf().install(code)).toBeUndefined()
  })

  test('while the service is down fails, and says nothing of what was sent', async () => {
    chat.misbehave({ outage: true })
    const failure = await appOf()
      .install('code-canary')
      .catch((error: unknown) => error)
    expect(failure).toEqual(new Error('the chat service did not answer'))
  })
})

describe('a message to a person', () => {
  const send = sendDirectMessage(webApiHere())
  function webApiHere(): Parameters<typeof sendDirectMessage>[0] {
    return (call) => webApi(toOperatorAddress(), new URL(chat.url))(call)
  }
  const to = (botToken: string, chatUserId = 'U42') => ({
    messageId: 'msg_1',
    botToken,
    chatUserId,
    text: LINE,
  })

  test('arrives, and what stands behind its link is not fetched', async () => {
    const { botToken } = await installed()
    expect(await send(to(botToken))).toEqual({ kind: 'sent', httpStatus: 200, responseWithheld: true })
    expect(chat.messages.at(-1)).toEqual({
      to: 'U42',
      text: LINE,
      body: { channel: 'U42', text: LINE, unfurl_links: false, unfurl_media: false },
    })
  })

  test('a revoked app is a lost connection; a person who left is not', async () => {
    const { botToken } = await installed()
    chat.deactivate('UGONE')
    expect(await send(to(botToken, 'UGONE'))).toMatchObject({ reason: 'chat_account_inactive', retry: false })
    chat.revokeApiToken(botToken)
    expect(await send(to(botToken))).toMatchObject({ reason: 'integration_lost', retry: false })
    expect(await send(to('xoxb-unknown'))).toMatchObject({ reason: 'integration_lost', retry: false })
  })

  test('that may have arrived is not known', async () => {
    const { botToken } = await installed()
    const before = chat.messages.length
    chat.failNext('postMessage', 'hang up after')
    expect(await send(to(botToken))).toEqual({ kind: 'unknown' })
    expect(chat.messages.length).toBe(before + 1)
  })

  const REFUSED = { kind: 'refused', reason: 'refused', retry: false }
  const LOST = { ...REFUSED, reason: 'integration_lost' }
  const INACTIVE = { ...REFUSED, reason: 'chat_account_inactive' }
  const WAIT = { ...REFUSED, reason: 'rate_limited', retry: true }
  const UNKNOWN = { kind: 'unknown' }

  test.each([
    ['token_revoked', LOST],
    ['invalid_auth', LOST],
    ['not_authed', LOST],
    ['account_inactive', LOST],
    ['missing_scope', LOST],
    ['app_uninstalled', LOST],
    ['user_disabled', INACTIVE],
    ['user_not_found', INACTIVE],
    ['channel_not_found', INACTIVE],
    ['messages_tab_disabled', INACTIVE],
    ['is_archived', REFUSED],
    ['restricted_action', REFUSED],
    ['ekm_access_denied', REFUSED],
    ['msg_too_long', REFUSED],
    ['something_new', REFUSED],
    ['ratelimited', WAIT],
    ['rate_limited', WAIT],
    ['fatal_error', UNKNOWN],
    ['internal_error', UNKNOWN],
    ['service_unavailable', UNKNOWN],
    ['request_timeout', UNKNOWN],
  ])('%s', async (error, outcome) => {
    const { botToken } = await installed()
    chat.failNext('postMessage', { error })
    expect(await send(to(botToken))).toEqual({ ...outcome, httpStatus: 200, responseWithheld: true })
  })

  test.each([
    [answered(429, '', 30), { ...WAIT, httpStatus: 429, retryAfterSeconds: 30 }],
    [answered(500, '<h1>Oops</h1>'), { ...UNKNOWN, httpStatus: 500 }],
    [answered(503, '{"ok":false,"error":"token_revoked"}'), { ...UNKNOWN, httpStatus: 503 }],
    [answered(502, '{"ok":true}'), { ...UNKNOWN, httpStatus: 502 }],
    [answered(200, '{"ok":'), { ...UNKNOWN, httpStatus: 200 }],
    [answered(302, ''), { ...UNKNOWN, httpStatus: 302 }],
    [answered(404, ''), { ...REFUSED, httpStatus: 404 }],
    ...ANSWERLESS,
  ])('%j', async (posted, outcome) => {
    const call = webApi(async () => posted, new URL(chat.url))
    expect(await sendDirectMessage(call)(to('xoxb'))).toEqual(outcome)
  })
})

describe('who somebody is at the chat service', () => {
  const ADA = { team: 'T0001', id: 'U0001', name: 'Ada' }
  beforeEach(() => chat.present(ADA))
  const HOW = { state: 'state-2', nonce: 'nonce-2', teamId: 'T0001' }

  async function identified(nonce = HOW.nonce) {
    const back = await chat.walk(appOf().linkUrl(HOW))
    return appOf().identify({ code: back.searchParams.get('code')!, nonce })
  }

  test('is asked without their address, in the connected workspace', async () => {
    const url = new URL(appOf().linkUrl(HOW))
    expect([url.pathname, Object.fromEntries(url.searchParams)]).toEqual([
      '/openid/connect/authorize',
      {
        response_type: 'code',
        client_id: chat.clientId,
        scope: 'openid profile',
        redirect_uri: 'https://app.acme.test/console/linked',
        team: 'T0001',
        state: 'state-2',
        nonce: 'nonce-2',
      },
    ])
  })

  test('is their workspace, their id and their name there, and no token outlives the question', async () => {
    expect(await identified()).toEqual({ teamId: 'T0001', chatUserId: 'U0001', displayName: 'Ada' })
    expect(chat.liveTokens.size).toBe(0)
  })

  const soon = Math.floor(Date.now() / 1000)
  /** Each of them is a way to be somebody else. */
  test.each([
    ['another issuer', { claims: { iss: 'https://evil.test' } }],
    ['another audience', { claims: { aud: 'client.other' } }],
    ['several audiences', { claims: { aud: ['client.other', 'x'] } }],
    ['an old token', { claims: { exp: soon - 3600 } }],
    ['one that has just expired', { claims: { exp: soon - 61 } }],
    ['a token of the future', { claims: { iat: soon + 3600 } }],
    ['another walk’s nonce', { claims: { nonce: 'nonce-1' } }],
    ['no nonce', { claims: { nonce: undefined } }],
    ['no workspace', { claims: { 'https://slack.com/team_id': undefined } }],
    ['no signature', { signature: 'none' }],
    ['somebody else’s signature', { signature: 'foreign-key' }],
    ['a signature by what everybody has', { signature: 'client-secret' }],
  ] as const)('is not told by %s; the token that came with it is ended all the same', async (_what, how) => {
    chat.misbehave(how)
    expect(await identified()).toBeUndefined()
    expect(chat.liveTokens.size).toBe(0)
  })

  test('is not told by a code of another walk, a code used twice or an installation’s code', async () => {
    expect(await identified('nonce-of-another')).toBeUndefined()
    const code = (await chat.walk(appOf().linkUrl(HOW))).searchParams.get('code')!
    expect(await appOf().identify({ code, nonce: HOW.nonce })).toBeDefined()
    expect(await appOf().identify({ code, nonce: HOW.nonce })).toBeUndefined()
    const other = (await chat.walk(appOf().installUrl('s'))).searchParams.get('code')!
    expect(await appOf().identify({ code: other, nonce: HOW.nonce })).toBeUndefined()
    expect(chat.liveTokens.size).toBe(0)
  })
})
