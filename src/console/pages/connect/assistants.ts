/** Common assistants and how a server is added to each: the commands, links and files their vendors document. */

/** One of our endpoints under the name it gets in the assistant. */
export type Endpoint = { name: string; url: string }

export type SetupStep =
  | { kind: 'command'; about: string; text: string }
  | { kind: 'link'; label: string; href: string }
  | { kind: 'file'; path: string; text: string }

const ASSISTANT_IDS = [
  'claude-code',
  'claude',
  'chatgpt',
  'codex',
  'cursor',
  'vs-code',
  'gemini-cli',
] as const
export type AssistantId = (typeof ASSISTANT_IDS)[number]

export type Assistant = {
  id: AssistantId
  name: string
  /** Where its calls come from: this computer reaches loopback, a vendor's cloud reaches public addresses only. */
  callsFrom: 'computer' | 'cloud'
  setup: (endpoint: Endpoint) => SetupStep[]
  /** Instead of `ways`, where only this computer reaches the server; left out where there is none. */
  localSetup?: (endpoint: Endpoint) => SetupStep[]
  /** How to get from there to sign-in. */
  next: (endpoint: Endpoint) => string
}

export const ASSISTANTS: readonly Assistant[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    callsFrom: 'computer',
    setup: ({ name, url }) => [
      { kind: 'command', about: 'Add the server', text: `claude mcp add --transport http ${name} ${url}` },
      { kind: 'command', about: 'Sign in', text: `claude mcp login ${name}` },
    ],
    next: ({ name }) =>
      `In a session, /mcp shows ${name} and can also sign in. Add --scope user to make it available in every project.`,
  },
  {
    id: 'claude',
    name: 'Claude on the web and desktop',
    callsFrom: 'cloud',
    setup: ({ name, url }) => [
      { kind: 'link', label: `Add ${name} to Claude`, href: claudeLink({ name, url }) },
    ],
    // mcp-remote runs on this computer and speaks to Claude Desktop through its standard input.
    localSetup: ({ name, url }) => [
      {
        kind: 'file',
        path: 'claude_desktop_config.json',
        text: inServers(name, { command: 'npx', args: ['-y', 'mcp-remote', url] }),
      },
    ],
    next: () =>
      'Manually: Customize > Connectors > + > Add custom connector, then paste the address. On Team and Enterprise plans an owner adds it first, then each person connects.',
  },
  {
    id: 'chatgpt',
    name: 'ChatGPT',
    callsFrom: 'cloud',
    setup: ({ url }) => [
      { kind: 'link', label: 'Open ChatGPT plugins', href: 'https://chatgpt.com/plugins' },
      { kind: 'command', about: 'Address to paste', text: url },
    ],
    next: ({ name }) => `Choose +, then Add custom MCP server. Name it ${name} and paste the address.`,
  },
  {
    id: 'codex',
    name: 'Codex',
    callsFrom: 'computer',
    setup: ({ name, url }) => [
      { kind: 'command', about: 'Add the server', text: `codex mcp add ${name} --url ${url}` },
    ],
    next: ({ name }) => `Sign-in opens automatically. To repeat it, run codex mcp login ${name}.`,
  },
  {
    id: 'cursor',
    name: 'Cursor',
    callsFrom: 'computer',
    setup: ({ name, url }) => [
      { kind: 'link', label: `Add ${name} to Cursor`, href: cursorLink({ name, url }) },
      { kind: 'file', path: '.cursor/mcp.json', text: inServers(name, { url }) },
    ],
    next: () => 'Cursor asks before installing. Sign in from its MCP settings.',
  },
  {
    id: 'vs-code',
    name: 'VS Code',
    callsFrom: 'computer',
    setup: (endpoint) => [
      { kind: 'link', label: `Add ${endpoint.name} to VS Code`, href: codeLink(endpoint) },
      { kind: 'command', about: 'Or use the command line', text: `code --add-mcp '${codeServer(endpoint)}'` },
    ],
    next: () => 'VS Code asks before installing, and opens sign-in when the server starts.',
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    callsFrom: 'computer',
    setup: ({ name, url }) => [
      { kind: 'command', about: 'Add the server', text: `gemini mcp add --transport http ${name} ${url}` },
      { kind: 'command', about: 'Sign in (in a session)', text: `/mcp auth ${name}` },
    ],
    next: () => 'Add -s user to make it available in every project.',
  },
]

/** Only this computer reaches such an address. */
export const isLoopback = ({ hostname }: URL): boolean =>
  /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

const claudeLink = ({ name, url }: Endpoint): string =>
  `https://claude.ai/customize/connectors?modal=add-custom-connector&connectorName=${encodeURIComponent(name)}&connectorUrl=${encodeURIComponent(url)}`

/** The configuration travels as base64, whose `+`, `/` and `=` mean something else in a query. */
const cursorLink = ({ name, url }: Endpoint): string =>
  `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${encodeURIComponent(btoa(JSON.stringify({ url })))}`

const codeLink = (endpoint: Endpoint): string =>
  `vscode:mcp/install?${encodeURIComponent(codeServer(endpoint))}`

const codeServer = ({ name, url }: Endpoint): string => JSON.stringify({ name, type: 'http', url })

const inServers = (name: string, server: object): string =>
  JSON.stringify({ mcpServers: { [name]: server } }, null, 2)
