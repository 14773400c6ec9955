import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { builtProgram } from '../../test/runner/program.ts'

let command: string
let folder: string
let server: Server

beforeAll(async () => {
  command = await builtProgram()
  folder = mkdtempSync(join(tmpdir(), 'joiner-mistakes-'))
  server = createServer(({ url = '' }, response) => {
    const [, of = '', path = ''] = /^\/(\w+)(.*)$/.exec(url) ?? []
    const { code, body } = answers[of]?.(new URL(path, 'http://a')) ?? missing()
    const isJson = typeof body !== 'string'
    response.writeHead(code, { 'content-type': isJson ? 'application/json' : 'text/html' })
    response.end(isJson ? JSON.stringify(body) : body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ours = ['401', '403', 'html', 'cluster'].map((name) => [name, `${at}/${name}`])
  const servers: Readonly<Record<string, string>> = {
    refused: 'http://127.0.0.1:9',
    unknown: 'https://nosuch.invalid',
    ...Object.fromEntries(ours),
  }
  for (const [name, address] of Object.entries(servers)) kubeconfig(name, address, 'prod', { token: 'none' })
  kubeconfig('nobody', at, 'somebody-else', { token: 'none' })
  kubeconfig('plugin', at, 'prod', { exec: { ...exec, installHint: 'install kubelogin: az aks install-cli' } })
  writeFileSync(
    join(folder, 'typo.yaml'),
    'apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {limit: 1}\n',
  )
  writeFileSync(join(folder, 'binary'), new Uint8Array([0x41, 0x80]))
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

const exec = {
  apiVersion: 'client.authentication.k8s.io/v1beta1',
  command: 'no-such-kubelogin',
  interactiveMode: 'Never',
}

function kubeconfig(name: string, address: string, user: string, credentials: object): void {
  const text = stringify({
    'current-context': 'prod',
    contexts: [{ name: 'prod', context: { cluster: 'prod', user: 'prod' } }],
    clusters: [{ name: 'prod', cluster: { server: address } }],
    users: [{ name: user, user: credentials }],
  })
  writeFileSync(join(folder, name), text)
}

interface Answered {
  readonly code: number
  readonly body: unknown
}

const status = (code: number, reason: string): Answered => ({
  code,
  body: { kind: 'Status', code, reason, message: reason },
})
const missing = () => status(404, 'NotFound')

const pod = (name: string, nodeName?: string) => ({
  metadata: {
    name,
    namespace: 'shop',
    uid: name,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { 'pod-template-hash': '5d9c7' },
    ownerReferences: [{ kind: 'ReplicaSet', name: 'web-5d9c7', uid: 'r', controller: true, apiVersion: 'apps/v1' }],
  },
  spec: { containers: [{ name: 'a' }], ...(nodeName === undefined ? {} : { nodeName }) },
  status: { phase: 'Pending' },
})
const pods = [pod('web-5d9c7-a', 'gone'), pod('web-5d9c7-b')]

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'general' }
const pool = {
  metadata: { name: 'general', uid: 'p', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { template: { spec: { nodeClassRef, requirements: [] } }, disruption: { consolidateAfter: '0s' } },
}

const answers: Readonly<Record<string, (path: URL) => Answered>> = {
  '401': () => status(401, 'Unauthorized'),
  '403': () => status(403, 'Forbidden'),
  html: () => ({ code: 200, body: '<html>log in</html>' }),
  cluster: ({ pathname, searchParams }) => {
    const list = (items: readonly object[]) => ({ code: 200, body: { items, metadata: { resourceVersion: '1' } } })
    const [, namespace, name] = /^\/api\/v1(?:\/namespaces\/(\w+))?\/pods(?:\/(.+))?$/.exec(pathname) ?? []
    const field = searchParams.get('fieldSelector')?.replace('metadata.name=', '')
    if (name !== undefined) {
      const found = pods.find(({ metadata }) => metadata.name === name && namespace === 'shop')
      return found === undefined ? missing() : { code: 200, body: found }
    }
    if (pathname.endsWith('/pods'))
      return list(
        pods.filter(
          ({ metadata }) => (namespace ?? 'shop') === 'shop' && (field === undefined || metadata.name === field),
        ),
      )
    if (pathname.endsWith('/nodepools')) return list([pool])
    // Joiner has run here.
    if (pathname.endsWith('/leases/joiner-bridge')) return { code: 200, body: {} }
    return /\/(nodes|nodeclaims|events|poddisruptionbudgets)$/.test(pathname) ? list([]) : missing()
  },
}

/** Ends, and says what is wrong and what to type. */
test.each<[line: string, code: number, said: RegExp]>([
  ['status --kubeconfig DIR/none', 1, /kubeconfig .*none: there is no such file; run az aks get-credentials/],
  ['node --kubeconfig DIR/refused --context b', 1, /there is no context "b"; name one by --context: prod/],
  [
    'why pod a/b --kubeconfig DIR/nobody',
    1,
    /context "prod" names the user "prod", of whom it has no .*get-credentials/,
  ],
  ['why pod a/b --kubeconfig DIR/refused', 1, /ECONNREFUSED.*; start the cluster .*127\.0\.0\.1:9 \(context "prod"\)/],
  ['top --once --kubeconfig DIR/unknown', 1, /ENOTFOUND.*VPN.*https:\/\/nosuch\.invalid \(context "prod"\)/],
  ['budgets --kubeconfig DIR/401', 1, /401 .*az login.*\/401 \(context "prod"\)/],
  ['blocked quota --kubeconfig DIR/401', 1, /401 .*az login/],
  ['plan --kubeconfig DIR/401', 1, /401 .*az login/],
  ['budgets --kubeconfig DIR/403', 1, /no right to read it at .*\/403 \(context "prod"\); the role joiner-operator/],
  ['blocked capacity list --kubeconfig DIR/html', 1, /not JSON.*HTTPS_PROXY is not read, proxy-url/],
  ['why node a --kubeconfig DIR/plugin', 1, /no-such-kubelogin .* is not installed: .*; install kubelogin: az aks/],
  ['why node a --kubeconfig DIR/cluster', 2, /there is no Node or NodeClaim a; kubectl get nodes,nodeclaims/],
  ['why nodepool generel --kubeconfig DIR/cluster', 2, /did you mean "general"/],
  ['why pod web-5d9c7-a --kubeconfig DIR/cluster', 2, /no pod default\/web-5d9c7-a; did you mean "shop\/web-5d9c7-a"/],
  ['why pod shop/web-5d9c7-aa --kubeconfig DIR/cluster', 2, /did you mean "shop\/web-5d9c7-a"/],
  [
    'why pod shop/web --kubeconfig DIR/cluster',
    0,
    /this is shop\/web-5d9c7-b, which waits .*others of "web": web-5d9c7-a/,
  ],
  ['why shop/web --kubeconfig DIR/cluster', 0, /this is shop\/web-5d9c7-b/],
  ['why nothing --kubeconfig DIR/cluster', 2, /no Node or NodeClaim or NodePool or pod nothing/],
  ['node --kubeconfig DIR/cluster', 1, /namespace "joiner", so Joiner is not installed there; .*--joiner-namespace/],
  ['budgets nosuch --kubeconfig DIR/cluster', 2, /NodePool "nosuch" does not exist; there are: general/],
  ['budgets nosuch -w --no-headers --kubeconfig DIR/cluster', 2, /NodePool "nosuch" does not exist/],
  ['status --temporal-address nonsense --kubeconfig DIR/none', 1, /ENOTFOUND nonsense\n {2}check --temporal-address/],
  ['stats', 2, /unknown command 'stats'\n\(Did you mean status\?\)/],
  ['budgets --reason x', 2, /unknown option '--reason'\n\(see joiner budgets --help\)/],
  ['node hold', 2, /missing required argument 'name'\n\(see joiner node hold --help\)/],
  ['pause --reason x --until tomorrow', 2, /--until "tomorrow": .*write it as 2h/],
  ['pause --reason x --until 2020-01-01', 2, /lies in the past/],
  ['pause --reason x --nodepool a,b', 2, /--nodepool "a,b": not the name of an object/],
  ['cost --since 3x', 2, /neither a duration such as 7d/],
  ['apply nope --kubeconfig DIR/refused', 1, /"nope" is neither the id of a plan .* nor a file that can be read/],
  ['validate DIR/binary', 1, /is not UTF-8 text; give a file/],
  ['validate -f DIR/none.yaml', 2, /none\.yaml: cannot be read: there is no such file/],
  ['validate DIR/typo.yaml', 1, /typo\.yaml:4: spec\.limit: .*write limits/],
  ['convert DIR', 2, /it is a directory .*name the files in it/],
  ['node -o names', 2, /Allowed choices are table, wide, name, custom-columns=TITLE:\.field/],
  ['node -o custom-columns= --kubeconfig DIR/none', 2, /"" is no column; write TITLE:\.field/],
])('joiner %s', async (line, code, said) => {
  const args = line.replaceAll('DIR', folder).split(' ')
  const env = { PATH: process.env['PATH'], HOME: folder }
  const ended = await new Promise<{ readonly code: unknown; readonly text: string }>((resolve) => {
    execFile(process.execPath, [command, ...args], { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, text: stderr + stdout }),
    )
  })
  expect(ended.text).toMatch(said)
  expect(ended.text).not.toMatch(/\n {4}at |this is a bug/)
  expect(ended.code).toBe(code)
})
