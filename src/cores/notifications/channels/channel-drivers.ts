/** The table of drivers, one per channel. */
import type { Channel } from '../../../contracts/channels.ts'
import type { ChannelDriver } from './channel-driver.ts'
import { chat } from './chat.ts'
import { directMessage } from './direct-message.ts'
import { email } from './email.ts'
import { forum } from './forum.ts'
import { webhook } from './webhook.ts'

export const CHANNEL_DRIVERS: Readonly<Record<Channel, ChannelDriver>> = {
  email,
  chat,
  direct_message: directMessage,
  webhook,
  forum,
}
