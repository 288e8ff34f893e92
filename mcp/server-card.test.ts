/** `server.json` is what the cards say, at an address that whoever installs svc fills in. */
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import packageFile from '../package.json' with { type: 'json' }
import registered from '../server.json' with { type: 'json' }
import { catalog, serverCard } from './server-card.ts'

const { version } = packageFile

test('server.json and the card of the platform have the same name, version, texts and remote', () => {
  const card = serverCard({ mcpUrl: new URL('https://mcp.example.com'), version }, 'platform')
  const { $schema, remotes, ...identity } = registered
  const { $schema: cardSchema, remotes: cardRemotes, ...cardIdentity } = card
  expect(identity).toEqual(cardIdentity)
  expect($schema).not.toBe(cardSchema)
  expect(remotes).toHaveLength(cardRemotes.length)
  for (const [at, { type, url, variables }] of remotes.entries()) {
    expect(Object.keys(variables)).toEqual(['host'])
    expect({ type, url: url.replace('{host}', 'mcp.example.com') }).toEqual({
      type: cardRemotes[at]!.type,
      url: cardRemotes[at]!.url,
    })
  }
})

/** So that an update of the SDK is noticed: a card must not name what the server no longer speaks. */
test('a card names what the SDK speaks over this transport', () => {
  const { remotes } = serverCard({ mcpUrl: new URL('https://mcp.example.com'), version }, 'notifications')
  const [newest, ...older] = remotes[0]!.supportedProtocolVersions
  expect(newest).toBe('2026-07-28')
  expect(older).toEqual(SUPPORTED_PROTOCOL_VERSIONS.filter((one) => one.startsWith('2025')))
})

test.each([
  ['https://mcp.example.com', 'mcp.example.com', 'https://mcp.example.com'],
  ['https://mcp.example.com:8443/ignored', 'mcp.example.com', 'https://mcp.example.com:8443'],
  ['http://[::1]:4000', '--1', 'http://[::1]:4000'],
])('the catalog of %s is anchored at %s', (mcpUrl, publisher, origin) => {
  const [first] = catalog({ mcpUrl: new URL(mcpUrl) }).entries
  expect(first).toMatchObject({
    identifier: `urn:air:${publisher}:mcp:svc-platform`,
    url: `${origin}/platform/server-card`,
  })
})
