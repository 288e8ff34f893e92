/** The client of OpenAI itself, pointed at this server: what it sends is taken, and what it gets is what the model says. */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BUILT_IN_MODEL } from '../../src/contracts/embedding-settings.ts'
import { startListeningSystem, type ListeningSystem } from '../support/assistant.ts'
import { makeApiToken, makeMember, makeOrganization } from '../support/make.ts'

const FOLDER = fileURLToPath(new URL('../clients/package.json', import.meta.url))
const isInstalled = existsSync(join(FOLDER, '../node_modules/openai'))
if (!isInstalled) {
  console.log('The client of OpenAI is not tried: npm ci --prefix test/clients --ignore-scripts installs it.')
}

type Embeddings = {
  readonly object: string
  readonly model: string
  readonly data: readonly { readonly index: number; readonly embedding: readonly number[] }[]
  readonly usage: { readonly prompt_tokens: number }
}
type Client = { embeddings: { create(input: object): Promise<Embeddings> } }
type OpenAi = new (options: { apiKey: string; baseURL: string; maxRetries?: number }) => Client

describe.skipIf(!isInstalled)('the client of OpenAI', { timeout: 120_000 }, () => {
  let system: ListeningSystem
  let developer: Client
  let viewer: Client

  beforeAll(async () => {
    system = await startListeningSystem({ SVC_SERVICES: 'api-gateway,auth-service' })
    const { OpenAI } = createRequire(FOLDER)('openai') as { OpenAI: OpenAi }
    const org = await makeOrganization(system)
    const clientOf = async (role: 'developer' | 'viewer') => {
      const person = await makeMember(system, org, role)
      const { token } = await makeApiToken(system, org, person)
      return new OpenAI({ apiKey: token, baseURL: `${system.origin}/api/ai/v1`, maxRetries: 0 })
    }
    developer = await clientOf('developer')
    viewer = await clientOf('viewer')
  })
  afterAll(() => system?.stop())

  const model = BUILT_IN_MODEL.name

  test('gets the same vectors by its default, which is base64, and as numbers', async () => {
    const input = ['A tent for two', 'A stove that burns wood']
    const asDefault = await developer.embeddings.create({ model, input })
    const asNumbers = await developer.embeddings.create({ model, input, encoding_format: 'float' })
    expect(asDefault).toMatchObject({ object: 'list', model })
    expect(asDefault.data.map(({ index }) => index)).toEqual([0, 1])
    for (const [at, { embedding }] of asDefault.data.entries()) {
      expect(embedding).toHaveLength(BUILT_IN_MODEL.dimensions)
      expect(Math.hypot(...embedding)).toBeCloseTo(1, 4)
      expect([...embedding]).toEqual([...asNumbers.data[at]!.embedding].map((number) => Math.fround(number)))
    }
    expect(asDefault.usage.prompt_tokens).toBeGreaterThan(0)
  })

  test('takes 256 texts in one call', async () => {
    const input = Array.from({ length: 256 }, (_, at) => `item ${at}`)
    expect((await developer.embeddings.create({ model, input })).data).toHaveLength(256)
  })

  test('is told in its own terms what was refused', async () => {
    await expect(developer.embeddings.create({ model: 'gpt-none', input: 'x' })).rejects.toMatchObject({
      status: 400,
      code: 'INVALID_REQUEST',
    })
    await expect(developer.embeddings.create({ model, input: [[1, 2]] })).rejects.toMatchObject({
      status: 400,
    })
    await expect(viewer.embeddings.create({ model, input: 'x' })).rejects.toMatchObject({
      status: 403,
      code: 'FORBIDDEN',
    })
  })
})
