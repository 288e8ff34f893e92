/** Builds the JSON body of `svc api` from fields: `a=1`, `filters[topic]=leave`, `scopes[]=data:read`. */
import { usageError } from './usage-error.ts'

export type Field = { readonly key: string; readonly value: unknown }
type Part = { [key: string]: unknown }

export function buildFields(fields: readonly Field[]): Part {
  const body: Part = Object.create(null) as Part
  for (const { key, value } of fields) place(body, pathOf(key), value, key)
  return body
}

/** `a[b][]` is `a`, `b`, and the end of a list (`''`). */
function pathOf(key: string): string[] {
  const [, first, rest = ''] = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(key) ?? []
  if (first === undefined) throw usageError(`Not a field: ${key}`, 'Use key, key[part] or key[]')
  return [first, ...[...rest.matchAll(/\[([^[\]]*)\]/g)].map(([, part = '']) => part)]
}

function place(body: Part, path: readonly string[], value: unknown, key: string): void {
  const [step = '', next, ...further] = path
  if (next === undefined) {
    if (step in body) throw conflict(key)
    body[step] = value
    return
  }
  if (next === '') {
    if (further.length > 0) throw usageError(`Not a field: ${key}`, '[] is the last part of a key')
    const list = (body[step] ??= [])
    if (!Array.isArray(list)) throw conflict(key)
    list.push(value)
    return
  }
  const inner = (body[step] ??= Object.create(null) as Part)
  if (typeof inner !== 'object' || Array.isArray(inner)) throw conflict(key)
  place(inner as Part, [next, ...further], value, key)
}

const conflict = (key: string) =>
  usageError(`The field ${key} is given twice`, 'For a list, write key[]=value for each')
