/** The tools, resources and prompts that the official suite calls by name, on a server as stateless as ours. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  acceptedContent,
  CLIENT_CAPABILITIES_META_KEY,
  createRequestStateCodec,
  inputRequired,
  inputResponse,
  McpServer,
  ResourceTemplate,
  type CallToolResult,
  type ClientCapabilities,
  type ContentBlock,
  type InputRequests,
  type InputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server'
import * as z from 'zod'

const DESCRIPTION = 'For the official suite'

/** One gray pixel, and two samples of silence. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQIAAACAgA=='

const states = createRequestStateCodec<{ round: number }>({ key: randomBytes(32) })

export function conformanceServer(): McpServer {
  const server = new McpServer(
    { name: 'svc-conformance', version: '0' },
    {
      // No list is ever announced as changed, as in the product: a server that is made for one request cannot know.
      capabilities: {
        tools: { listChanged: false },
        prompts: { listChanged: false },
        resources: { listChanged: false, subscribe: true },
        completions: {},
        logging: {},
      },
      requestState: { verify: (state, ctx) => states.verify(state, ctx) },
    },
  )
  for (const [name, run] of Object.entries(TOOLS)) {
    server.registerTool(name, { description: DESCRIPTION }, run)
  }
  offerArguments(server)
  offerResources(server)
  offerPrompts(server)
  server.server.setRequestHandler('completion/complete', () => ({
    completion: { values: ['paris', 'park', 'party'], total: 3, hasMore: false },
  }))
  server.server.setRequestHandler('resources/subscribe', () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', () => ({}))
  return server
}

type Answer = CallToolResult | InputRequiredResult
type Run = (ctx: ServerContext) => Answer | Promise<Answer>

const text = (said: string): ContentBlock => ({ type: 'text', text: said })
const image: ContentBlock = { type: 'image', data: PNG, mimeType: 'image/png' }
const resource = (uri: string): ContentBlock => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text: 'What is embedded.' },
})
const saying = (...content: ContentBlock[]): CallToolResult => ({ content })

/** Those that take no arguments. */
const TOOLS: Record<string, Run> = {
  test_simple_text: () => saying(text('This is a simple text response for testing.')),
  test_image_content: () => saying(image),
  test_audio_content: () => saying({ type: 'audio', data: WAV, mimeType: 'audio/wav' }),
  test_embedded_resource: () => saying(resource('test://embedded-resource')),
  test_multiple_content_types: () =>
    saying(text('Several kinds:'), image, resource('test://mixed-content-resource')),
  test_error_handling() {
    throw new Error('This tool intentionally returns an error for testing')
  },
  async test_tool_with_logging(ctx) {
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      await ctx.mcpReq.notify({ method: 'notifications/message', params: { level: 'info', data } })
      await sleep(50)
    }
    return saying(text('Logged three times.'))
  },
  async test_tool_with_progress({ mcpReq }) {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100 }
        await mcpReq.notify({ method: 'notifications/progress', params })
      }
      await sleep(50)
    }
    return saying(text('Done.'))
  },
  async test_logging_tool({ mcpReq }) {
    await mcpReq.log('info', 'Heard only by who asked for it')
    return saying(text('Logged.'))
  },
  // The SDK refuses to ask this of a client that did not say it can.
  test_missing_capability: () =>
    inputRequired({ inputRequests: { greeting: sample('Generate a greeting') } }),
  test_streaming_elicitation: () => inputRequired({ inputRequests: { user_name: NAME } }),

  // 2025-11-25: requests of the server in the middle of a call

  test_elicitation_sep1034_defaults: (ctx) => elicit(ctx, DEFAULTS),
  test_elicitation_sep1330_enums: (ctx) => elicit(ctx, ENUMS),

  // 2026-07-28: what is missing is the answer, and the call is made again

  test_input_required_result_elicitation({ mcpReq }) {
    const given = acceptedContent(mcpReq.inputResponses, 'user_name', z.object({ name: z.string() }))
    return given
      ? saying(text(`Hello, ${given.name}!`))
      : inputRequired({ inputRequests: { user_name: NAME } })
  },
  test_input_required_result_sampling({ mcpReq }) {
    const given = inputResponse(mcpReq.inputResponses, 'capital_question')
    if (given.kind === 'sampling') return saying(text(JSON.stringify(given.result.content)))
    return inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?') } })
  },
  test_input_required_result_list_roots({ mcpReq }) {
    const given = inputResponse(mcpReq.inputResponses, 'client_roots')
    if (given.kind === 'roots') return saying(text(given.roots.map(({ uri }) => uri).join(' ')))
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  },
  test_input_required_result_request_state: (ctx) =>
    inRounds(ctx, [{ confirm: ask('Please confirm', { ok: { type: 'boolean' } }) }]),
  test_input_required_result_tampered_state: (ctx) =>
    inRounds(ctx, [{ confirm: ask('Please confirm', { ok: { type: 'boolean' } }) }]),
  test_input_required_result_multiple_inputs: (ctx) =>
    inRounds(ctx, [
      { user_name: NAME, greeting: sample('Generate a greeting'), client_roots: inputRequired.listRoots() },
    ]),
  test_input_required_result_multi_round: (ctx) =>
    inRounds(ctx, [
      { step1: ask('Step 1: What is your name?', { name: { type: 'string' } }) },
      { step2: ask('Step 2: What is your favorite color?', { color: { type: 'string' } }) },
    ]),
  test_input_required_result_capabilities(ctx) {
    const can = capabilitiesOf(ctx)
    const inputRequests = {
      ...(can?.elicitation && { user_name: NAME }),
      ...(can?.sampling && { greeting: sample('Generate a greeting') }),
    }
    return inputRequired({ inputRequests })
  },
}

/** The SDK's type of the envelope names none of its keys. */
const capabilitiesOf = ({ mcpReq }: ServerContext) =>
  (mcpReq.envelope as Record<string, ClientCapabilities | undefined> | undefined)?.[
    CLIENT_CAPABILITIES_META_KEY
  ]

type Properties = Parameters<typeof inputRequired.elicit>[0]['requestedSchema'] extends infer Schema
  ? Extract<Schema, { properties: unknown }>['properties']
  : never

const ask = (message: string, properties: Properties) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
  })
const sample = (question: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens: 100,
  })
const NAME = ask('What is your name?', { name: { type: 'string' } })

/** Asks for each of these in turn; the sealed state says how far one has come. */
async function inRounds(ctx: ServerContext, rounds: readonly InputRequests[]): Promise<Answer> {
  const done = ctx.mcpReq.requestState<{ round: number }>()?.round ?? 0
  const before = rounds[done - 1]
  const isAnswered = Object.keys(before ?? {}).every((key) => ctx.mcpReq.inputResponses?.[key] !== undefined)
  const at = isAnswered ? done : done - 1
  const next = rounds[at]
  if (next === undefined) return saying(text('state-ok'))
  return inputRequired({ inputRequests: next, requestState: await states.mint({ round: at + 1 }, ctx) })
}

type Form = Parameters<ServerContext['mcpReq']['elicitInput']>[0] extends infer Params
  ? Extract<Params, { requestedSchema: unknown }>['requestedSchema']
  : never

async function elicit({ mcpReq }: ServerContext, requestedSchema: Form): Promise<CallToolResult> {
  const { action, content } = await mcpReq.elicitInput({ message: 'Please fill in', requestedSchema })
  return saying(text(`${action} ${JSON.stringify(content ?? {})}`))
}

const DEFAULTS: Form = {
  type: 'object',
  properties: {
    name: { type: 'string', default: 'John Doe' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', default: true },
  },
}
const TITLED = [
  { const: 'value1', title: 'First' },
  { const: 'value2', title: 'Second' },
]
const ENUMS: Form = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: ['option1', 'option2'] },
    titledSingle: { type: 'string', oneOf: TITLED },
    legacyEnum: { type: 'string', enum: ['opt1', 'opt2'], enumNames: ['One', 'Two'] },
    untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2'] } },
    titledMulti: { type: 'array', items: { anyOf: TITLED } },
  },
}

function offerArguments(server: McpServer): void {
  server.registerTool(
    'test_sampling',
    { description: DESCRIPTION, inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const content = { type: 'text' as const, text: prompt }
      // Nobody can answer without a session: not worth the suite's whole patience.
      const { content: said } = await mcpReq.requestSampling(
        { messages: [{ role: 'user', content }], maxTokens: 100 },
        { timeout: 1_000 },
      )
      return saying(text(`LLM response: ${JSON.stringify(said)}`))
    },
  )
  server.registerTool(
    'test_elicitation',
    { description: DESCRIPTION, inputSchema: z.object({ message: z.string() }) },
    (_input, ctx) =>
      elicit(ctx, {
        type: 'object',
        properties: { username: { type: 'string' }, email: { type: 'string' } },
        required: ['username', 'email'],
      }),
  )
}

function offerResources(server: McpServer): void {
  const contents = (uri: string, more: { mimeType: string } & ({ text: string } | { blob: string })) => ({
    contents: [{ uri, ...more }],
  })
  const plain = (name: string, said: string) => {
    const uri = `test://${name}`
    server.registerResource(name, uri, { mimeType: 'text/plain' }, () =>
      contents(uri, { mimeType: 'text/plain', text: said }),
    )
  }
  plain('static-text', 'This is the content of the static text resource.')
  plain('watched-resource', 'It never changes.')
  server.registerResource('static-binary', 'test://static-binary', { mimeType: 'image/png' }, () =>
    contents('test://static-binary', { mimeType: 'image/png', blob: PNG }),
  )
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { mimeType: 'application/json' },
    ({ href }, { id }) =>
      contents(href, {
        mimeType: 'application/json',
        text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
      }),
  )
}

function offerPrompts(server: McpServer): void {
  const messages = (...said: ContentBlock[]) => ({
    messages: said.map((content) => ({ role: 'user' as const, content })),
  })
  server.registerPrompt('test_simple_prompt', { description: DESCRIPTION }, () =>
    messages(text('A simple prompt.')),
  )
  server.registerPrompt('test_prompt_with_image', { description: DESCRIPTION }, () =>
    messages(image, text('Look at this.')),
  )
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: DESCRIPTION, argsSchema: z.object({ arg1: z.string(), arg2: z.string() }) },
    ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  )
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: DESCRIPTION, argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => messages(resource(resourceUri), text('Read this.')),
  )
  server.registerPrompt('test_input_required_result_prompt', { description: DESCRIPTION }, ({ mcpReq }) => {
    const given = acceptedContent<{ context: string }>(mcpReq.inputResponses, 'user_context')
    if (given) return messages(text(`In the context of ${given.context}.`))
    const question = ask('What context should the prompt use?', { context: { type: 'string' } })
    return inputRequired({ inputRequests: { user_context: question } })
  })
}
