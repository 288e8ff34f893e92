/** Chat cards as a client asks for them; test/browser/chat-cards.test.ts draws them. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { INVISIBLE } from '../src/contracts/invisible-characters.ts'
import { showRunEvidence } from '../src/contracts/maintenance.ts'
import { showProposal } from '../src/contracts/proposals.ts'
import { RESOURCES, type Resource } from '../src/contracts/scopes.ts'
import {
  agentToken,
  APP,
  callTool,
  errorResponse,
  fakeServices,
  replyOf,
  send,
  type Era,
  type FakeServices,
} from '../test/support/fake-services.ts'
import { fakeProposal, PROPOSAL_ID } from '../test/support/fake-maintenance.ts'
import { CARD_TYPE, cardUri, CHAT_CARDS, type ChatCard } from './chat-card.ts'
import { TOOLS } from './tools.ts'

const ERAS: Era[] = ['of 2025', 'of 2026']
const CARDS = Object.entries(CHAT_CARDS) as [ChatCard, (typeof CHAT_CARDS)[ChatCard]][]
const DRAWS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: [CARD_TYPE] } } }

async function read(resource: Resource, uri: string, era: Era = 'of 2026') {
  const system = fakeServices()
  const token = await agentToken(system, resource)
  const named = era === 'of 2026' ? { 'mcp-name': uri } : {}
  const sent = { token, params: { uri }, headers: named }
  return { ...(await replyOf(await send(system, `/${resource}`, era, 'resources/read', sent))), system }
}

type Contents = { uri: string; mimeType: string; text: string; _meta: { ui: { csp: object } } }
const contentsOf = (result: object | undefined) => (result as { contents: [Contents] }).contents[0]

describe.each(CARDS)('the card %s', (card, { resource }) => {
  test.each(ERAS)('is read by a client %s without asking the gateway', async (era) => {
    const { result, system } = await read(resource, cardUri(card), era)
    const found = contentsOf(result)
    expect(found).toMatchObject({ uri: cardUri(card), mimeType: CARD_TYPE })
    expect(found.text).toMatch(new RegExp(`^<!doctype html>\n<html lang="en" data-card="${card}"`))
    expect(system.asked.filter(({ service }) => service === 'gateway')).toEqual([])
  })

  test('loads nothing: no origin is allowed, and only its own script and style run', async () => {
    const { text, _meta } = contentsOf((await read(resource, cardUri(card))).result)
    expect(_meta.ui.csp).toEqual({
      connectDomains: [],
      resourceDomains: [],
      frameDomains: [],
      baseUriDomains: [],
    })
    const digest = (tag: string) =>
      createHash('sha256')
        .update(new RegExp(`<${tag}>([^]*)</${tag}>`).exec(text)![1]!)
        .digest('base64')
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(text)![1]
    expect(policy).toBe(
      `default-src 'none'; script-src 'sha256-${digest('script')}'; style-src 'sha256-${digest('style')}'; base-uri 'none'; form-action 'none'`,
    )
    expect(text.match(/\bhttps?:\/\/[^\s"'`]+/g)).toEqual([APP])
    expect(text).not.toMatch(/<(?:img|link|iframe|form)\b|url\(|@import/)
  })

  test('is named by a tool of its endpoint, and is not at the other one', async () => {
    const uris = TOOLS.filter((tool) => tool.resource === resource).map(
      ({ listed }) => (listed._meta?.['ui'] as { resourceUri?: string } | undefined)?.resourceUri,
    )
    expect(uris).toContain(cardUri(card))
    const other = RESOURCES.find((one) => one !== resource)!
    expect((await read(other, cardUri(card))).error).toMatchObject({ code: -32_602 })
  })
})

test('their script writes no markup, calls no tool and says nothing to the model', () => {
  const script = readFileSync(new URL('./chat-cards/card.js', import.meta.url), 'utf8')
  expect(script).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/)
  expect(script).not.toMatch(/tools\/call|ui\/message|update-model-context|fetch\(|XMLHttpRequest/)
  // What the console shows by its code, a card does too.
  expect(script).toContain(INVISIBLE.source)
})

test('a card cannot make a host decide a proposal', () => {
  const { listed } = TOOLS.find(({ name }) => name === 'proposal_decide')!
  expect(listed._meta).toEqual({ ui: { visibility: ['model'] } })
})

test('the server says that it has cards, at both endpoints', async () => {
  for (const resource of RESOURCES) {
    const system = fakeServices()
    const token = await agentToken(system, resource)
    const { result } = await replyOf(
      await send(system, `/${resource}`, 'of 2026', 'server/discover', { token }),
    )
    expect(result?.['capabilities']).toMatchObject({
      resources: { listChanged: false },
      extensions: { 'io.modelcontextprotocol/ui': {} },
    })
  }
})

describe('proposal_show', () => {
  const SHOWN = { app: 'shop', proposal_id: PROPOSAL_ID }
  async function show(system: FakeServices, input: object, capabilities: object) {
    const token = await agentToken(system, 'platform')
    return replyOf(await callTool(system, '/platform', 'proposal_show', input, { token, capabilities }))
  }
  const asksForLines = (system: FakeServices) => system.asked.some(({ url }) => url.includes('/evidence/'))

  test('answers the same text to a chat that draws cards, and the lines it read beside it', async () => {
    const [plain, drawing] = [fakeServices(), fakeServices()]
    const [text, card] = [await show(plain, SHOWN, {}), await show(drawing, SHOWN, DRAWS)]
    expect(card.result?.content).toEqual(text.result?.content)
    expect(text.result?.['_meta']).not.toHaveProperty(['svc/evidence'])
    expect(card.result?.['_meta']).toMatchObject({
      'svc/untrusted': true,
      'svc/evidence': [{ ref: 'file:total.js#L1-L1', text: 'NaN' }],
    })
    expect([asksForLines(plain), asksForLines(drawing)]).toEqual([false, true])
  })

  test.each([
    ['another extension', { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } } }],
    ['no types', { extensions: { 'io.modelcontextprotocol/ui': {} } }],
  ])('reads no lines for a client with %s', async (_what, capabilities) => {
    const system = fakeServices()
    await show(system, SHOWN, capabilities)
    expect(asksForLines(system)).toBe(false)
  })

  test('leaves out lines that may not be read, that are gone, and that are too long', async () => {
    const system = fakeServices()
    const refs = ['gone', 'kept no more', 'long', 'short']
    system.does[showProposal.name] = () =>
      fakeProposal({
        evidence: refs.map((ref) => ({ ref, kind: 'log' as const, sha256: 'c'.repeat(64) })),
      })
    const texts: Record<string, string | null> = {
      'kept no more': null,
      long: 'x'.repeat(20_000),
      short: Array.from({ length: 60 }, (_, at) => String(at)).join('\n'),
    }
    const row = await system.does[showRunEvidence.name]!({ ref: 'x' })
    system.does[showRunEvidence.name] = ({ ref }) =>
      ref === 'gone' ? errorResponse('NOT_FOUND') : { ...row, ref, text: texts[String(ref)] }
    const { result } = await show(system, SHOWN, DRAWS)
    // Twenty thousand bytes alone are more than an answer has, and nothing comes after them.
    expect(result?.['_meta']).toMatchObject({ 'svc/evidence': [] })
    texts['long'] = 'y'
    const again = await show(system, SHOWN, DRAWS)
    const { 'svc/evidence': kept } = again.result!['_meta'] as {
      'svc/evidence': { ref: string; text: string }[]
    }
    expect(kept.map(({ ref }) => ref)).toEqual(['long', 'short'])
    expect(kept[1]!.text.split('\n')).toHaveLength(40)
  })
})
