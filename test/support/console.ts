/**
 * Pages of a started system's console as somebody sees them, and their forms as a browser would send them: what a page does
 * not offer cannot be filled in, chosen or pressed.
 */
import { createApp } from '../../src/contracts/apps.ts'
import { checkAsBrowser } from './check-as-browser.ts'
import { makeMember, makeOrganization, signedIn, unique, type Person } from './make.ts'
import type { TestSystem } from './system.ts'
import { attributesOf, newWalker, resolved, wordsOf, type Page as Answer } from './walker.ts'

export type Filling = Readonly<Record<string, string | readonly string[] | boolean | File>>
export type Console = Awaited<ReturnType<typeof openConsole>>
export type ConsolePage = ReturnType<typeof readConsolePage>

type Field = {
  readonly name: string
  readonly kind: 'hidden' | 'text' | 'number' | 'file' | 'checkbox' | 'radio' | 'select'
  /** What it sends as it stands; several of checkboxes with one name. */
  readonly value: readonly string[]
  /** What it can be, of checkboxes, radios and selects. */
  readonly choices: readonly string[]
  /** Of its tag; of boxes and radios, of the last one. */
  readonly attributes: Readonly<Record<string, string>>
}

/** A form as it stands, or filled in. */
type Fillable = {
  readonly path: string
  readonly words: string
  /** What a field would send as it stands. */
  readonly value: (name: string) => string
  /** Of all fields that people see; of a single box whether it is ticked. */
  readonly values: () => Record<string, string | boolean>
  readonly choices: (name: string) => readonly string[]
  readonly has: (name: string) => boolean
  readonly field: (name: string) => Field
  readonly with: (filling: Filling) => Fillable
  /** As a browser, which does not send what it can see to be wrong. */
  readonly submit: () => Promise<ConsolePage>
  /** As a browser that checks nothing. */
  readonly submitUnchecked: () => Promise<ConsolePage>
}

/** A browser of somebody who has signed in, in a session of its own. */
export async function openConsole(system: TestSystem, person: Pick<Person, 'email'>) {
  const walker = newWalker(system)
  const { token } = await signedIn(system, person.email)
  walker.jar.keep(`svc_console=${token}; Path=/`, system.system.config.APP_URL)
  const arrive = async (answer: Answer) => {
    const isElsewhere = (url: URL) => url.origin !== system.system.config.APP_URL.origin
    return readConsolePage(await walker.follow(answer, isElsewhere), send)
  }
  /** As the form's own page, because a browser says where a form comes from. */
  const send: Send = async (from, { method, action, encoding }, pairs) => {
    if (method === 'GET') {
      const query = new URLSearchParams(pairs.map(([name, value]) => [name, textOf(value)]))
      return arrive(await walker.open(new URL(`${action.pathname}?${query}`, action)))
    }
    const body = new FormData()
    for (const [name, value] of pairs) body.append(name, value)
    const isUpload = encoding === 'multipart/form-data'
    const texts = pairs.map(([name, value]): [string, string] => [name, textOf(value)])
    return arrive(await walker.postFrom(from, action, isUpload ? body : texts))
  }
  return {
    walker,
    /** Follows redirects; `path` without `/console`. */
    open: async (path: string) =>
      arrive(await walker.open(path.startsWith('/console') ? path : `/console${path}`)),
  }
}

/** An organization with an app, a browser of its owner, and one of a viewer who has no part in the app. */
export async function makeShop(system: TestSystem) {
  const org = await makeOrganization(system)
  const viewer = await makeMember(system, org, 'viewer')
  const alias = unique('shop')
  await org.owner.call(createApp, { alias, name: 'The shop' })
  const browsers = { owner: await openConsole(system, org.owner), viewer: await openConsole(system, viewer) }
  return { org, alias, app: `/console/apps/${alias}`, call: org.owner.call, viewing: viewer, ...browsers }
}

type Pair = readonly [name: string, value: string | File]
type Sent = { readonly method: string; readonly action: URL; readonly encoding: string | undefined }
type Send = (from: Answer, form: Sent, pairs: readonly Pair[]) => Promise<ConsolePage>

function readConsolePage(answer: Answer, send: Send) {
  const { text: html, url, status, headers } = answer
  const main = /<main\b.*<\/main>/s.exec(html)?.[0] ?? html
  const where = `${url.pathname} (${status})`
  const forms = [...html.matchAll(/<form\b((?:[^>"]|"[^"]*")*)>(.*?)<\/form>/gs)].map((found) =>
    readForm(found[1]!, found[2]!),
  )
  const links = [...html.matchAll(/<a\b((?:[^>"]|"[^"]*")*)>(.*?)<\/a>/gs)].map(([, opening, inside]) => {
    const { href = '', 'aria-label': label } = attributesOf(opening!)
    return { words: label ?? wordsOf(inside!), href }
  })
  const rows = [...main.matchAll(/<tr\b[^>]*>(.*?)<\/tr>/gs)]
    .map(([, row]) => [...row!.matchAll(/<td\b[^>]*>(.*?)<\/td>/gs)].map(([, cell]) => wordsOf(cell!)))
    .filter(({ length }) => length > 0)
  const buttons = [...html.matchAll(/<button\b((?:[^>"]|"[^"]*")*)>(.*?)<\/button>/gs)].map(labelOf)

  function readForm(opening: string, inside: string) {
    const { action = '', method = 'get', enctype } = attributesOf(opening)
    const fields = fieldsOf(inside)
    const presses = [...inside.matchAll(/<button\b((?:[^>"]|"[^"]*")*)>(.*?)<\/button>/gs)]
      .filter(([, attributes]) => attributesOf(attributes!)['type'] !== 'button')
      .map((found) => ({ label: labelOf(found), attributes: attributesOf(found[1]!) }))
    const sent = { action: new URL(action || url, url), method: method.toUpperCase(), encoding: enctype }
    return { ...sent, fields, presses, words: wordsOf(inside) }
  }

  /** The form with this button; `about`: words, a value or an address inside it, where several have such a button. */
  function form(button: string, about?: string) {
    const matching = forms.filter(({ presses, words, action, fields }) => {
      const isAbout =
        about === undefined ||
        words.includes(about) ||
        action.pathname.includes(about) ||
        fields.some(({ value }) => value.includes(about))
      return isAbout && presses.some(({ label }) => label === button)
    })
    const [found] = matching
    if (!found) throw new Error(`No form “${button}” on ${where}: ${wordsOf(main)}`)
    const isAlike = ({ action, fields }: typeof found) =>
      action.href === found.action.href && JSON.stringify(fields) === JSON.stringify(found.fields)
    if (!matching.every(isAlike)) throw new Error(`Several forms “${button}” on ${where}; say which`)
    const press = found.presses.find(({ label }) => label === button)!.attributes
    return fillable(found, {}, press)
  }

  function fillable(of: (typeof forms)[number], filled: Filling, press: Record<string, string>): Fillable {
    const fieldNamed = (name: string): Field => {
      const field = of.fields.find((one) => one.name === name && one.kind !== 'hidden')
      if (!field) throw new Error(`The form has no field ${name} on ${where}`)
      return field
    }
    /** A button may send its form elsewhere. */
    const target = () =>
      press['formaction'] === undefined ? of : { ...of, action: new URL(press['formaction'], url) }
    const pairs = (): Pair[] => [
      ...of.fields.flatMap((field) =>
        valuesOf(field, filled[field.name]).map((value): Pair => [field.name, value]),
      ),
      ...(press['name'] === undefined ? [] : [[press['name'], press['value'] ?? ''] satisfies Pair]),
    ]
    return {
      path: of.action.pathname,
      words: of.words,
      value: (name) => fieldNamed(name).value.join(' '),
      values: () =>
        Object.fromEntries(
          of.fields
            .filter(({ kind }) => kind !== 'hidden')
            .map(({ name, kind, value, choices }) => [
              name,
              kind === 'checkbox' && choices.length === 1 ? value.length === 1 : value.join(' '),
            ]),
        ),
      choices: (name) => fieldNamed(name).choices,
      has: (name) => of.fields.some((field) => field.name === name && field.kind !== 'hidden'),
      field: fieldNamed,
      with: (filling) => {
        for (const [name, value] of Object.entries(filling)) checkChoice(fieldNamed(name), value)
        return fillable(of, { ...filled, ...filling }, press)
      },
      submit: () => {
        const isChecked = press['formnovalidate'] === undefined
        for (const field of isChecked ? of.fields : []) {
          checkAsBrowser(field, valuesOf(field, filled[field.name]).map(textOf))
        }
        return send(answer, target(), pairs())
      },
      submitUnchecked: () => send(answer, target(), pairs()),
    }
  }

  return {
    status,
    headers,
    html,
    path: url.pathname + url.search,
    /** Where it leads that is not ours. */
    location: answer.location,
    title: wordsOf(/<h1\b.*?<\/h1>/s.exec(main)?.[0] ?? ''),
    /** What is to be read in the page itself, without what every page has around it. */
    text: wordsOf(main),
    /** The cells of its tables, row by row. */
    rows,
    row(words: string): string {
      const row = rows.find((cells) => cells.some((cell) => cell.includes(words)))
      if (!row) throw new Error(`No row with “${words}” on ${where}: ${wordsOf(main)}`)
      return row.join(' | ')
    },
    /** Terms with what is said about them. */
    pairs: Object.fromEntries(
      [...main.matchAll(/<dt\b[^>]*>(.*?)<\/dt>\s*<dd\b[^>]*>(.*?)<\/dd>/gs)].map(([, term, value]) => [
        wordsOf(term!),
        wordsOf(value!),
      ]),
    ) as Readonly<Record<string, string>>,
    /** What is reported at the top, or above a form that was refused. */
    notices: [
      ...html.matchAll(/<div class="notice notice-(done|problem|info)[^>]*>(.*?)<\/div>\s*<\/div>/gs),
    ].map(([, , inside]) => wordsOf(inside!)),
    /** What is said beside a field, by its id. */
    problems: Object.fromEntries(
      [...main.matchAll(/<div id="([\w-]+)-about" class="about">(.*?)<\/div>/gs)].flatMap(
        ([, field, about]) => {
          const problems = [...about!.matchAll(/<p class="field-problem">(.*?)<\/p>/gs)].map(([, words]) =>
            wordsOf(words!),
          )
          return problems.length > 0 ? [[field!, problems.join(' ')]] : []
        },
      ),
    ) as Readonly<Record<string, string>>,
    /** Accessible names of pictures and parts. */
    labels: [...main.matchAll(/aria-label="([^"]*)"/g)].map(([, label]) => resolved(label!)),
    /** Whether a button or link has these words. */
    offers: (words: string): boolean => buttons.includes(words) || links.some((link) => link.words === words),
    link(words: string): string {
      const link = links.find((one) => one.words === words)
      if (!link) throw new Error(`No link “${words}” on ${where}: ${wordsOf(main)}`)
      return resolved(link.href)
    },
    forms,
    form,
  }
}

const labelOf = ([, opening, inside]: RegExpMatchArray): string =>
  attributesOf(opening!)['aria-label'] ?? wordsOf(inside!)

/** In the order of the page; boxes and radios of one name are one field. */
function fieldsOf(inside: string): Field[] {
  const tags = inside.matchAll(
    /<(input|textarea|select)\b((?:[^>"]|"[^"]*")*)>(?:(?<=<textarea\b(?:[^>"]|"[^"]*")*>)\n?(.*?)<\/textarea>|(?<=<select\b(?:[^>"]|"[^"]*")*>)(.*?)<\/select>)?/gs,
  )
  const fields = new Map<string, Field>()
  for (const [, tag, opening, area, options] of tags) {
    const attributes = attributesOf(opening!)
    const { name = '', type = 'text', value = '', disabled } = attributes
    if (name === '' || disabled !== undefined) continue
    const common = { name, attributes }
    if (tag === 'textarea') {
      fields.set(name, {
        ...common,
        kind: 'text',
        value: [resolved(area ?? '').replaceAll('\r\n', '\n')],
        choices: [],
      })
    } else if (tag === 'select') {
      const all = [...options!.matchAll(/<option\b((?:[^>"]|"[^"]*")*)>/g)].map(([, one]) =>
        attributesOf(one!),
      )
      const open = all.filter((one) => one['disabled'] === undefined)
      const selected = all.find((one) => one['selected'] !== undefined) ?? all[0]
      const choices = open.map((one) => one['value'] ?? '')
      fields.set(name, { ...common, kind: 'select', value: [selected?.['value'] ?? ''], choices })
    } else if (type === 'checkbox' || type === 'radio') {
      const before = fields.get(name)
      const ticked = attributes['checked'] === undefined ? [] : [value || 'on']
      const choices = [...(before?.choices ?? []), value || 'on']
      fields.set(name, { ...common, kind: type, value: [...(before?.value ?? []), ...ticked], choices })
    } else {
      const kind = type === 'hidden' || type === 'number' || type === 'file' ? type : 'text'
      const before = kind === 'hidden' ? (fields.get(name)?.value ?? []) : []
      fields.set(name, { ...common, kind, value: type === 'file' ? [] : [...before, value], choices: [] })
    }
  }
  return [...fields.values()]
}

/** Of a file its name, as a browser shows it. */
const textOf = (value: string | File): string => (typeof value === 'string' ? value : value.name)

function checkChoice({ name, kind, choices }: Field, value: Filling[string]): void {
  if (kind !== 'checkbox' && kind !== 'radio' && kind !== 'select') return
  if (typeof value === 'boolean' && (kind !== 'checkbox' || choices.length > 1)) {
    throw new Error(`${name} is not one box: say which of ${choices.join(', ')}`)
  }
  for (const one of typeof value === 'boolean' ? [] : [value].flat()) {
    const asked = textOf(one)
    if (!choices.includes(asked)) throw new Error(`${name} cannot be ${asked}, but ${choices.join(', ')}`)
  }
}

function valuesOf({ kind, value, choices }: Field, filled: Filling[string] | undefined): (string | File)[] {
  if (filled === undefined) return [...value]
  if (typeof filled === 'boolean') return filled ? [...choices] : []
  // A browser sends line breaks of a text so.
  return [filled]
    .flat()
    .map((one) => (kind === 'text' && typeof one === 'string' ? one.replaceAll(/\r?\n/g, '\r\n') : one))
}
