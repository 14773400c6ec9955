import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { nodeSettings } from '../../../api/settings/node-settings.ts'
import { readNodeEgress } from './azure-config.ts'

const pem = (body: string) => `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`
const settings = z.object(nodeSettings)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joiner-cas-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

const egress = (env: Readonly<Record<string, string>>) =>
  readNodeEgress(settings.parse(env) as never, 'cluster.hcp.eastus.azmk8s.io:443')

describe('CAs and proxies of nodes', () => {
  it('are unset where nothing is configured', async () => {
    expect(await egress({})).toEqual({ customCaCerts: [] })
    expect(await egress({ JOINER_NODE_HTTP_PROXY: '', JOINER_NODE_CUSTOM_CA_FILE: '' })).toEqual({ customCaCerts: [] })
  })

  it('are split into the CAs of a bundle, whatever is between them', async () => {
    const path = await file('bundle.pem', `# root\n${pem('AAA')}\nsubject=x\r\n${pem('BBB')}`)
    const { customCaCerts } = await egress({ JOINER_NODE_CUSTOM_CA_FILE: path })
    expect(customCaCerts.map((text) => Buffer.from(text, 'base64').toString())).toEqual([pem('AAA'), pem('BBB')])
  })

  it('are one proxy for both schemes, except for the node itself, Azure on the node and the API server', async () => {
    expect(
      await egress({ JOINER_NODE_HTTP_PROXY: 'http://proxy:3128', JOINER_NODE_NO_PROXY: '10.0.0.0/16, localhost' }),
    ).toEqual({
      customCaCerts: [],
      httpProxy: {
        httpProxy: 'http://proxy:3128',
        httpsProxy: 'http://proxy:3128',
        noProxy: [
          'localhost',
          '127.0.0.1',
          '168.63.129.16',
          '169.254.169.254',
          'cluster.hcp.eastus.azmk8s.io',
          '10.0.0.0/16',
        ],
      },
    })
  })

  it("include the proxy's own CA", async () => {
    const path = await file('proxy.pem', pem('CCC'))
    const { httpProxy } = await egress({
      JOINER_NODE_HTTPS_PROXY: 'https://proxy:3129',
      JOINER_NODE_PROXY_CA_FILE: path,
    })
    expect(httpProxy).toMatchObject({ httpProxy: 'https://proxy:3129', httpsProxy: 'https://proxy:3129' })
    expect(Buffer.from(httpProxy?.trustedCa ?? '', 'base64').toString()).toBe(pem('CCC'))
  })

  it.each([
    ['nowhere', undefined, /JOINER_NODE_CUSTOM_CA_FILE ".*nowhere": the file cannot be read .*; mount it/],
    ['empty.pem', 'no certificate', /holds no certificate in PEM; write each CA as PEM/],
    ['many.pem', pem('A').repeat(11), /holds 11 certificates; keep at most 10/],
  ])('must be readable: %s', async (name, text, message) => {
    if (text !== undefined) await file(name, text)
    await expect(egress({ JOINER_NODE_CUSTOM_CA_FILE: join(folder, name) })).rejects.toThrow(message)
  })

  it.each([
    ['JOINER_NODE_HTTP_PROXY', 'proxy:3128', 'is not the URL of a proxy'],
    ['JOINER_NODE_HTTPS_PROXY', 'http://proxy:3128/"; reboot', 'is not the URL of a proxy'],
    ['JOINER_NODE_NO_PROXY', 'localhost, $(reboot)', 'holds "$(reboot)", which is no host, address or range'],
    ['JOINER_NODE_HTTPS_PROXY', 'ftp://proxy', 'is not the URL of a proxy'],
    ['JOINER_NODE_PROXY_CA_FILE', 'ca.pem', 'is not an absolute path'],
  ])('is refused as %s "%s"', (name, value, message) => {
    expect(settings.safeParse({ [name]: value }).error?.issues[0]?.message).toContain(message)
  })
})
