/** Domains where anybody can have an address: they say nothing about belonging to an organization. */
const PUBLIC = new Set(
  `gmail.com googlemail.com outlook.com hotmail.com live.com msn.com passport.com yahoo.com ymail.com rocketmail.com
   icloud.com me.com mac.com aol.com aim.com proton.me protonmail.com pm.me gmx.com gmx.net gmx.de gmx.at gmx.ch web.de
   mail.com email.com usa.com mail.ru bk.ru inbox.ru list.ru yandex.com yandex.ru ya.ru qq.com foxmail.com 163.com 126.com
   yeah.net sina.com sohu.com naver.com hanmail.net daum.net zoho.com zohomail.com fastmail.com fastmail.fm hey.com
   tutanota.com tuta.io tuta.com duck.com mailfence.com hushmail.com runbox.com posteo.de posteo.net mailbox.org
   t-online.de freenet.de arcor.de orange.fr wanadoo.fr free.fr laposte.net sfr.fr libero.it virgilio.it tiscali.it
   alice.it comcast.net verizon.net att.net sbcglobal.net bellsouth.net cox.net charter.net btinternet.com sky.com
   talktalk.net virginmedia.com bigpond.com optusnet.com.au telstra.com rediffmail.com uol.com.br bol.com.br terra.com.br
   wp.pl o2.pl onet.pl interia.pl seznam.cz centrum.cz abv.bg mailinator.com guerrillamail.com 10minutemail.com
   temp-mail.org yopmail.com sharklasers.com trashmail.com`.split(/\s+/),
)

/** yahoo.co.uk, hotmail.fr, outlook.es and their like are too many to list. */
const PUBLIC_FAMILIES = /^(yahoo|hotmail|outlook|live|msn|gmx|yandex|aol|icloud)\.[a-z]{2,3}(\.[a-z]{2})?$/

export const isPublicMailDomain = (domain: string): boolean =>
  PUBLIC.has(domain) || PUBLIC_FAMILIES.test(domain)
