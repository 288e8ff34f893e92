/** The forms of the console say what the contracts say: lengths, bounds, choices, and what is required. */
import { html } from 'hono/html'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import '../../src/console/app.ts'
import { FORMS } from '../../src/console/fields.ts'
import type { Content } from '../../src/pages/parts.ts'
import { filesUnder, readText } from './source-tree.ts'

type Property = z.core.JSONSchema.BaseSchema

const forms = FORMS.flatMap((form) => {
  const schema = z.toJSONSchema(form.operation.input, { io: 'input', unrepresentable: 'any' })
  return form.fields.map((field) => ({
    name: `${form.operation.name ?? 'part'}.${field.key}`,
    form,
    field,
    schema: form.operation.input.shape[field.key] as z.ZodType,
    property: typed(schema.properties?.[field.key] as Property),
    isOptional: !(schema.required ?? []).includes(field.key),
  }))
})

/** Without what says that it may be null. */
function typed(property: Property): Property {
  const inner = property.anyOf?.find((one) => one.type !== 'null')
  return inner ? { ...property, ...inner } : property
}

async function rendered(form: (typeof FORMS)[number], key: string): Promise<string> {
  const shown: Content = form.show().field(key)
  return String(await html`${shown}`)
}

const attribute = (page: string, name: string): string | undefined =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(page)?.[1]

const optionsIn = (page: string): string[] =>
  [...page.matchAll(/<(?:option|input type="checkbox" name="[^"]*") value="([^"]*)"/g)].map(
    ([, value]) => value ?? '',
  )

describe('every field of a form of an operation', () => {
  test('there are some', () => {
    expect(FORMS.length).toBeGreaterThan(40)
    expect(forms.length).toBeGreaterThan(90)
  })

  test.each(forms)('$name has the limits of its contract', async ({ form, field, schema, property }) => {
    const page = await rendered(form, field.key)
    const limit = attribute(page, 'maxlength')
    if (
      property.type === 'string' &&
      !property.enum &&
      !page.includes('<select') &&
      !isId(property) &&
      !isTime(property)
    ) {
      expect(limit).toBeDefined()
      if (property.maxLength !== undefined) expect(limit).toBe(String(property.maxLength))
      else if (property.pattern) expect(schema.safeParse('a'.repeat(Number(limit) + 1)).success).toBe(false)
    }
    if (property.type === 'integer' && !page.includes('<select')) {
      for (const [name, bound] of [
        ['min', property.minimum],
        ['max', property.maximum],
      ] as const) {
        const isReal = bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER
        expect(attribute(page, name)).toBe(isReal ? String(bound) : undefined)
      }
    }
    const choices = property.enum ?? typed((property.items ?? {}) as Property).enum
    if (choices) {
      const offered = optionsIn(page).filter((value) => value !== '')
      expect(offered.length).toBeGreaterThan(0)
      expect(choices).toEqual(expect.arrayContaining(offered))
    }
  })

  test.each(forms)(
    '$name is required only where an empty one is refused or has a meaning',
    async ({ form, field, property, isOptional }) => {
      if (!(await rendered(form, field.key)).includes(' required')) return
      const isChange = form.operation.idempotent
      expect(
        isChange || !isOptional || property.default !== undefined || REQUIRED_BY_THE_PAGE.includes(field.key),
      ).toBe(true)
    },
  )
})

/** The page asks for what the API may do without. */
const REQUIRED_BY_THE_PAGE = ['email', 'table']

const isId = ({ pattern }: Property): boolean => /^\^[a-z]+_/.test(pattern ?? '')
const isTime = ({ format }: Property): boolean => format === 'date-time'

/** Where a field is not one of an operation, or is shared by several: why. */
const BY_HAND: Readonly<Record<string, string>> = {
  'src/console/member-field.ts': 'an address stands for the id of a member',
  'src/console/pages/apps/app-people.ts': 'a search before a choice',
  'src/console/pages/deliveries/delivery-filters.ts': 'also of an export and of a live list',
  'src/console/pages/integrations/integrations.ts': 'a search in what is shown',
}

test('no other page writes a limit by hand', () => {
  const written = filesUnder('src/console')
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .filter((path) => /\b(?:max|min)length: \d/.test(readText(path)))
  expect(written.toSorted()).toEqual(Object.keys(BY_HAND).toSorted())
})
