/** The schema of the chart's values, as Helm reads it. */
import { expect, test } from 'vitest'
import { isMap, isScalar, parseDocument, type YAMLMap } from 'yaml'
import { valuesSchema, type ValueSchema } from '../../scripts/generated/chart-schema.ts'
import { wholePattern } from '../../scripts/generated/whole-pattern.ts'
import { readText } from './source-tree.ts'

/** Helm matches with RE2: no look-around, no back-references, no more than 1,000 repeats. One of them fails every command. */
function refusedByRe2(pattern: string): boolean {
  const counts = [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].flatMap(([, min, max]) => [min, max])
  return /\(\?(?!:)|\\[1-9kpPuxc]/.test(pattern) || counts.some((count) => Number(count ?? 0) > 1_000)
}

test('Helm can read every pattern', () => {
  const patterns: string[] = []
  JSON.stringify(valuesSchema(), (name, value: unknown) => {
    if (name === 'pattern' && typeof value === 'string') patterns.push(value)
    return value
  })
  expect(patterns.length).toBeGreaterThan(50)
  expect(patterns.filter(refusedByRe2)).toEqual([])
})

test.each(['^(?!x)', '(?<=a)b', '(a)\\1', '\\p{L}', 'a{1,1001}', 'a{2000}'])('%s could not be', (pattern) => {
  expect(refusedByRe2(pattern)).toBe(true)
})

test.each([
  [0, 0],
  [0, 9],
  [1, 200],
  [7, 13],
  [64, 1_048],
  [99, 101],
  [0, 600],
  [450, 2_345],
])('whole numbers from %i to %i are a pattern', (min, max) => {
  const pattern = new RegExp(`^(${wholePattern(min, max)})$`)
  const taken = Array.from({ length: 3_000 }, (_, n) => n).filter((n) => pattern.test(String(n)))
  expect([taken[0], taken.at(-1), taken.length]).toEqual([min, max, max - min + 1])
  for (const text of ['', '007', '-1', '1.5', '1e3', `${max}0`]) expect(pattern.test(text), text).toBe(false)
})

const schemaAt = (schema: ValueSchema | undefined, name: string): ValueSchema | undefined => {
  const below = schema?.properties?.[name]
  return below?.$ref === undefined ? below : valuesSchema().definitions?.[below.$ref.replace(/^.*\//, '')]
}

/** Every value of values.yaml with the comment above it, and what the schema says of it. */
function commented(map: YAMLMap, schema: ValueSchema | undefined, path: string): [string, string, string][] {
  return map.items.flatMap(({ key, value }) => {
    if (!isScalar(key)) throw new Error('a key that is no text')
    const [name, below] = [`${path}${String(key.value)}`, schemaAt(schema, String(key.value))]
    if (isMap(value) && value.items.length > 0) return commented(value, below, `${name}.`)
    // The first of a group has it before the group's map.
    const comment = key.commentBefore ?? (map.items[0]?.key === key ? map.commentBefore : undefined) ?? ''
    return [[name, comment.replaceAll(/\s+/g, ' ').trim(), below?.description ?? 'not in the schema']]
  })
}

test('values.yaml says of each value what the schema says, and has those of the contract', () => {
  const values = parseDocument(readText('chart/values.yaml')).contents
  const rows = isMap(values) ? commented(values, valuesSchema(), '') : []
  expect(rows.filter(([, comment, description]) => comment !== description)).toEqual([])
  expect(rows.map(([name]) => name)).toEqual(
    expect.arrayContaining([
      'global.platformConnector.actorAssertionSecret',
      'auth-service.rbac.create',
      'auth-service.jwt.secret',
      'auth-service.jwt.signingKey',
      'auth-service.redirectBaseUrl',
      'auth-service.allowedRedirectBaseUrls',
      'auth-service.google.clientId',
      'auth-service.google.clientSecret',
      'auth-service.microsoft.clientId',
      'auth-service.microsoft.clientSecret',
      'auth-service.microsoft.tenantId',
      'mcp-server.platform.jwtSecret',
    ]),
  )
})
