/** The API reference, rendered from the OpenAPI document: contents, search, and a page for each resource. */
import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { STYLE } from './api-docs-style.ts'
import { exampleCommand, exampleResponse } from './api-examples.ts'
import type { OpenApi, OpenApiOperation } from './openapi.ts'

const PATH = '/api/docs'

/** The page's one style is named by its hash, so the policy needs no exception. The search is a form of this page. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`

type Row = { readonly path: string; readonly method: string; readonly op: OpenApiOperation }
type Groups = ReadonlyMap<string, readonly Row[]>

/** `tag`: of one resource, undefined where there is none of that name. `search`: what was typed. */
export function apiDocsPage(
  document: OpenApi,
  { tag, search }: { tag?: string | undefined; search?: string | undefined },
): Promise<Response> | undefined {
  const groups = groupsOf(document)
  if (tag !== undefined) {
    const rows = groups.get(tag)
    return rows && respond(document, groups, { tag, title: titleOf(tag), body: resource(document, rows) })
  }
  const words = (search ?? '').trim().slice(0, 100)
  return words === ''
    ? respond(document, groups, { title: 'svc API', body: contents(document, groups) })
    : respond(document, groups, { title: 'Search', search: words, body: results(groups, words) })
}

function groupsOf(document: OpenApi): Groups {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, op]) => ({ path, method, op })),
  )
  const groups = Map.groupBy(all, ({ op }) => op.tags[0] ?? '')
  return new Map([...groups].toSorted(([a], [b]) => a.localeCompare(b)))
}

const titleOf = (tag: string): string =>
  TITLES[tag] ?? tag.charAt(0).toUpperCase() + tag.slice(1).replaceAll('-', ' ')

/** Where the path is not what people say. */
const TITLES: Readonly<Record<string, string>> = {
  ai: 'AI',
  me: 'Who am I',
  orgs: 'Organizations',
  'oauth-clients': 'OAuth clients',
}

type Content = ReturnType<typeof html>
type Shown = { title: string; tag?: string; search?: string; body: Content }

async function respond(
  document: OpenApi,
  groups: Groups,
  { title, tag, search, body }: Shown,
): Promise<Response> {
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title === 'svc API' ? title : `${title} · svc API`} ${document.info.version}</title>
        ${raw(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <div class="frame">
          <main>
            <h1>${title}</h1>
            <form action="${PATH}" role="search">
              <label for="q">Search operations</label>
              <input id="q" name="q" type="search" value="${search ?? ''}" maxlength="100" placeholder="Search, such as retry or /tokens" />
              <button type="submit">Search</button>
            </form>
            <p class="jump"><a href="#resources">All resources</a></p>
            ${body}
          </main>
          <nav id="resources" aria-label="Resources">
            <a class="home" href="${PATH}">svc API ${document.info.version}</a>
            <ul>
              ${[...groups].map(
                ([name, rows]) =>
                  html`<li><a href="${PATH}/${name}" ${name === tag && raw('aria-current="page"')}>${titleOf(name)}<span class="count">${rows.length}</span></a></li>`,
              )}
            </ul>
          </nav>
        </div>
      </body>
    </html>`
  return new Response(String(page), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': POLICY,
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
    },
  })
}

const contents = (document: OpenApi, groups: Groups): Content =>
  html`<p>
      All operations at <code>${document.servers[0]?.url ?? ''}</code>. Send <code>Authorization: Bearer …</code> with an API
      token from Settings, API tokens. Responses are JSON, or YAML with <code>Accept: application/yaml</code>. For programs:
      <a href="/api/openapi.json">openapi.json</a>.
    </p>
    ${[...groups].map(([tag, rows]) => html`<h2><a href="${PATH}/${tag}">${titleOf(tag)}</a></h2>${list(rows)}`)}`

const list = (rows: readonly Row[]): Content =>
  html`<ul class="list">
    ${rows.map(
      ({ path, method, op }) =>
        html`<li><a href="${PATH}/${op.tags[0]}#${op.operationId}"><span class="method ${method}">${method.toUpperCase()}</span><span class="path">${path}</span><span class="summary">${op.summary}</span></a></li>`,
    )}
  </ul>`

/** Every word, anywhere in it. */
function results(groups: Groups, search: string): Content {
  const words = search.toLowerCase().split(/\s+/)
  const found = [...groups.values()].flat().filter((row) => {
    const text = textOf(row)
    return words.every((word) => text.includes(word))
  })
  return found.length === 0
    ? html`<p>No operation matches “${search}”. <a href="${PATH}">All operations</a></p>`
    : html`<p class="soft">${found.length} found. <a href="${PATH}">All operations</a></p>${list(found)}`
}

const textOf = ({ path, method, op }: Row): string =>
  [
    method,
    path,
    op.operationId,
    op.summary,
    op.description,
    ...fieldsOf(op.requestBody).map(([name]) => name),
    ...(op.parameters ?? []).map(({ name }) => name),
  ]
    .join(' ')
    .toLowerCase()

const resource = (document: OpenApi, rows: readonly Row[]): Content =>
  html`${rows.length > 1 ? list(rows) : ''} ${rows.map((row) => operation(document, row))}`

const operation = (document: OpenApi, { path, method, op }: Row): Content => {
  const answer = exampleResponse(op)
  return html`<section class="operation" id="${op.operationId}" aria-labelledby="${op.operationId}-title">
    <h2 id="${op.operationId}-title">${op.summary}</h2>
    <p class="line"><span class="method ${method}">${method.toUpperCase()}</span><span class="path">${path}</span><code class="soft">${op.operationId}</code></p>
    <p class="soft">${op.description}</p>
    ${table('Parameters', parametersOf(op))} ${table('Body', fieldsOf(op.requestBody))}
    ${table(
      'Responses',
      Object.entries(op.responses).map(([status, { description }]) => [status, description]),
    )}
    <div class="beside">
      <div><h3>Example</h3><pre tabindex="0" role="region" aria-label="Example of ${op.operationId}">${exampleCommand(document.servers[0]?.url ?? '', path, method, op)}</pre></div>
      ${answer !== undefined ? html`<div><h3>Response</h3><pre tabindex="0" role="region" aria-label="Response of ${op.operationId}">${JSON.stringify(answer, null, 2)}</pre></div>` : ''}
    </div>
  </section>`
}

const table = (title: string, rows: readonly (readonly string[])[]) =>
  rows.length > 0 &&
  html`<h3>${title}</h3>
    <table>
      ${rows.map(
        ([name, ...rest]) =>
          html`<tr>
            <th scope="row"><code>${name}</code></th>
            ${rest.map((text) => html`<td>${text}</td>`)}
          </tr>`,
      )}
    </table>`

type Schema = {
  type?: unknown
  enum?: unknown[]
  description?: string
  properties?: Record<string, Schema>
  required?: string[]
}

const parametersOf = (op: OpenApiOperation): string[][] =>
  (op.parameters ?? []).map((parameter) => {
    const schema = parameter.schema as Schema
    return [
      parameter.name,
      `${parameter.in}${parameter.required ? ', required' : ''}`,
      parameter.description ?? schema.description ?? typeOf(schema),
    ]
  })

function fieldsOf(body: OpenApiOperation['requestBody']): string[][] {
  const schema = body?.content['application/json']?.schema as Schema | undefined
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => [
    name,
    `${typeOf(field)}${schema?.required?.includes(name) ? ', required' : ''}`,
    field.description ?? '',
  ])
}

const typeOf = (schema: Schema): string =>
  schema.enum ? schema.enum.map(String).join(', ') : typeof schema.type === 'string' ? schema.type : 'value'
