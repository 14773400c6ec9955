import { readFile } from 'node:fs/promises'
import type { Config } from '../../../api/config.ts'
import { certificatesOf } from '../../../api/settings/node-settings.ts'
import type { AzureConfig } from '../azure-config.ts'

/** Destinations without the proxy: the node itself, Azure's own addresses on every node, and the API server. */
const directEntries = ['localhost', '127.0.0.1', '168.63.129.16', '169.254.169.254']

/** Most CAs: Azure accepts 64 KiB of custom data, and a few CAs fit beside everything else. */
const mostCas = 10

/** Reads the CAs that nodes trust and the proxy they use. Errors: a file that cannot be read, or that holds no certificate or too many. */
export async function readNodeEgress(
  config: Config,
  apiServerHost: string,
): Promise<Pick<AzureConfig, 'customCaCerts' | 'httpProxy'>> {
  const { JOINER_NODE_HTTP_PROXY: http, JOINER_NODE_HTTPS_PROXY: https, JOINER_NODE_PROXY_CA_FILE: caFile } = config
  const customCaCerts = await readCertificates('JOINER_NODE_CUSTOM_CA_FILE', config.JOINER_NODE_CUSTOM_CA_FILE)
  const httpProxy = http ?? https
  const httpsProxy = https ?? http
  if (httpProxy === undefined || httpsProxy === undefined) return { customCaCerts }
  const trusted = await readCertificates('JOINER_NODE_PROXY_CA_FILE', caFile)
  const noProxy = new Set([...directEntries, apiServerHost.replace(/:\d+$/, ''), ...config.JOINER_NODE_NO_PROXY])
  return {
    customCaCerts,
    httpProxy: {
      httpProxy,
      httpsProxy,
      noProxy: [...noProxy],
      ...(trusted.length === 0
        ? {}
        : { trustedCa: base64(trusted.map((one) => Buffer.from(one, 'base64').toString()).join('')) }),
    },
  }
}

/** Returns the certificates of a file, each as base64 of PEM. */
async function readCertificates(variable: string, path: string | undefined): Promise<readonly string[]> {
  if (path === undefined) return []
  const fail = (what: string, remedy: string, cause?: unknown) =>
    new Error(`environment variable ${variable} "${path}": ${what}; ${remedy}`, { cause })
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw fail(`the file cannot be read (${String(error)})`, 'mount it, or unset the variable', error)
  }
  const certificates = certificatesOf(text)
  if (certificates.length === 0) throw fail('the file holds no certificate in PEM', 'write each CA as PEM')
  if (certificates.length > mostCas)
    throw fail(
      `the file holds ${certificates.length} certificates`,
      `keep at most ${mostCas}: Azure limits custom data`,
    )
  return certificates.map(base64)
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
