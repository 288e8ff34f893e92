/** The page of a chat that draws cards, on the official host of MCP Apps. Runs in a browser, bundled by chat-host.ts. */
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'
import type { ChatHost } from './page.ts'

const SANDBOX = new URLSearchParams(location.search).get('sandbox')!

let bridge: AppBridge | undefined
const host: ChatHost = {
  methods: [],
  opened: [],
  async draw({ html, csp, theme, result, variables }) {
    document.documentElement.style.colorScheme = theme
    const frame = document.createElement('iframe')
    frame.title = 'Card'
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin')
    document.body.replaceChildren(frame)
    addEventListener('message', ({ source, data }: MessageEvent<{ method?: string }>) => {
      if (source === frame.contentWindow && data.method !== undefined) host.methods.push(data.method)
    })
    bridge = new AppBridge(
      null,
      { name: 'test host', version: '1' },
      { openLinks: {} },
      {
        hostContext: { theme, locale: 'en-GB', timeZone: 'UTC', ...(variables && { styles: { variables } }) },
      },
    )
    const isReady = new Promise((resolve) => (bridge!.onsandboxready = resolve))
    const isInitialized = new Promise((resolve) => (bridge!.oninitialized = resolve))
    bridge.onopenlink = async ({ url }) => {
      host.opened.push(url)
      return {}
    }
    bridge.onsizechange = ({ height }) => {
      if (height !== undefined) frame.style.height = `${height}px`
    }
    // Both before the frame loads: it may speak at once.
    const target = frame.contentWindow!
    await bridge.connect(new PostMessageTransport(target, target))
    frame.src = SANDBOX
    await isReady
    await bridge.sendSandboxResourceReady({ html, csp })
    await isInitialized
    await bridge.sendToolInput({ arguments: {} })
    await bridge.sendToolResult(result)
  },
  async setTheme(theme) {
    await bridge!.sendHostContextChange({ theme })
  },
  async end() {
    await bridge!.teardownResource({})
  },
}
Object.assign(globalThis, { host })
