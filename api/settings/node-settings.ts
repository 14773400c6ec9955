import { z } from 'zod'
import { commaList, optionalText } from './setting-types.ts'

/** Nodes put both into a shell's quotes; special characters are written as %24 and the like in a URL. */
const proxyCharacters = /^https?:\/\/[A-Za-z0-9._~%:@/[\]-]+$/
const noProxyCharacters = /^[A-Za-z0-9._:*/[\]-]+$/

const proxyUrl = optionalText.refine(
  (text) =>
    text === undefined || (z.url({ protocol: /^https?$/ }).safeParse(text).success && proxyCharacters.test(text)),
  'is not the URL of a proxy; write it like http://proxy.example.com:3128, or leave it empty',
)
const noProxy = commaList.superRefine((entries, context) => {
  for (const entry of entries)
    if (!noProxyCharacters.test(entry))
      context.addIssue(
        `holds ${JSON.stringify(entry)}, which is no host, address or range; write names such as .example.com or 10.0.0.0/8`,
      )
})
const file = optionalText.refine(
  (text) => text === undefined || text.startsWith('/'),
  'is not an absolute path; write it from / on',
)

/** Certificates and proxies of nodes, besides those of their image. */
export const nodeSettings = {
  JOINER_NODE_CUSTOM_CA_FILE: file,
  JOINER_NODE_HTTP_PROXY: proxyUrl,
  JOINER_NODE_HTTPS_PROXY: proxyUrl,
  JOINER_NODE_NO_PROXY: noProxy.default([]),
  JOINER_NODE_PROXY_CA_FILE: file,
}

/** Returns the certificates of a PEM file, each in its own PEM; empty when there are none. */
export function certificatesOf(pem: string): readonly string[] {
  const [begin, end] = ['-----BEGIN CERTIFICATE-----', '-----END CERTIFICATE-----']
  return pem.split(end).flatMap((part, index, parts) => {
    const start = part.indexOf(begin)
    return start < 0 || index === parts.length - 1 ? [] : [`${part.slice(start)}${end}\n`]
  })
}
