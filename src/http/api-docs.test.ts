import { describe, expect, test } from 'vitest'
import { OPERATIONS } from '../contracts/operations.ts'
import { apiDocsPage } from './api-docs.ts'
import { exampleCommand, exampleInput, exampleResponse } from './api-examples.ts'
import { openapi, type OpenApiOperation } from './openapi.ts'

const document = openapi(OPERATIONS, { version: '1.0.0', apiUrl: new URL('https://api.example.com') })
const documented = new Map(
  Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map((op) => [op.operationId, op] as const),
  ),
)
const of = (name: string): OpenApiOperation => documented.get(name)!
const read = async (shown: Parameters<typeof apiDocsPage>[1]): Promise<string> =>
  (await apiDocsPage(document, shown))!.text()

describe('examples', () => {
  test('every example of a request is one that its operation takes', () => {
    const wrong = OPERATIONS.filter(({ http }) => !http.takes).flatMap((op) => {
      const read = op.input.safeParse(exampleInput(of(op.name)))
      return read.success
        ? []
        : [
            `${op.name}: ${read.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')}`,
          ]
    })
    expect(wrong).toEqual([])
  })

  test('every example of a response is one that its operation gives', () => {
    const wrong = OPERATIONS.filter(({ http }) => !http.gives && http.success !== 204).flatMap((op) => {
      const read = op.output.safeParse(exampleResponse(of(op.name)))
      return read.success
        ? []
        : [
            `${op.name}: ${read.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`).join('; ')}`,
          ]
    })
    expect(wrong).toEqual([])
  })

  test('a command has the address, the token by reference, and the body', () => {
    const { path, method } = OPERATIONS.find(({ name }) => name === 'createSubscription')!.http
    const line = exampleCommand('https://api.example.com', path, method, of('createSubscription'))
    expect(line).toContain("curl 'https://api.example.com/api/notifications/subscriptions'")
    expect(line).toContain('"Authorization: Bearer $SVC_TOKEN"')
    expect(line).toContain('"pattern": "deploy.failed"')
    expect(line).not.toMatch(/\{\w+\}/)
  })
})

describe('pages', () => {
  test('the contents link every operation, and every link leads to it', async () => {
    const contents = await read({})
    const links = [...contents.matchAll(/href="\/api\/docs\/([\w-]+)#(\w+)"/g)]
    expect(links.map(([, , name]) => name!).toSorted()).toEqual(
      OPERATIONS.map(({ name }) => name as string).toSorted(),
    )
    for (const tag of new Set(links.map(([, tag]) => tag!))) {
      const page = await read({ tag })
      for (const [, , name] of links.filter(([, its]) => its === tag)) expect(page).toContain(`id="${name}"`)
    }
    expect(apiDocsPage(document, { tag: 'nothing' })).toBeUndefined()
  })

  test('the search finds by every word, and shows what was typed as text', async () => {
    const found = await read({ search: 'retry Delivery' })
    expect(found).toContain('#retryDelivery')
    expect(found).not.toContain('#listMembers')
    const none = await read({ search: '<b>"x' })
    expect(none).toContain('No operation matches')
    expect(none).not.toContain('<b>')
  })
})
