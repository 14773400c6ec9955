import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { cloudInitDocument } from '../../../../activities/azure/node-config/custom-data.ts'
import { configPath } from './custom-data.ts'
import { provision } from './provision.ts'
import { runScript } from './shell.ts'

const token = 'abcdef.0123456789abcdef'
const authority = Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n').toString('base64')

type Json = Readonly<Record<string, unknown>>

/** A configuration with which a node joins. */
function config(changes: Json = {}): Json {
  return {
    version: 'v1',
    kubernetes_version: '1.36.3',
    kubernetes_ca_cert: authority,
    api_server_config: { api_server_name: 'cluster.hcp.eastus.azmk8s.io' },
    bootstrapping_config: { tls_bootstrapping_token: token },
    kubelet_config: {
      kubelet_flags: {
        '--kubeconfig': '/var/lib/kubelet/kubeconfig',
        '--cloud-provider': 'external',
        '--max-pods': '250',
        '--kube-reserved': 'cpu=100m,memory=1843Mi',
        '--eviction-hard': 'memory.available<750Mi',
        '--register-with-taints': 'karpenter.sh/unregistered:NoExecute,team=blue:NoSchedule',
      },
      kubelet_node_labels: { 'karpenter.sh/nodepool': 'default' },
    },
    ...changes,
  }
}

const boot = (changes: Json = {}) => provision(cloudInitDocument(config(changes)))
const kubelet = (changes: Json) => boot({ kubelet_config: { ...(config()['kubelet_config'] as Json), ...changes } })

describe('a node that boots', () => {
  it('starts a kubelet from the environment that the node configuration becomes', () => {
    const { exitCode, output, environment, kubelet: started, files } = boot()
    expect([exitCode, output]).toEqual([0, ''])
    expect(environment['KUBELET_NODE_LABELS']).toBe('karpenter.sh/nodepool=default')
    expect(started).toMatchObject({
      server: 'https://cluster.hcp.eastus.azmk8s.io:443',
      identity: { kind: 'token', token },
      version: 'v1.36.3',
      labels: { 'karpenter.sh/nodepool': 'default' },
      taints: [
        { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
        { key: 'team', value: 'blue', effect: 'NoSchedule' },
      ],
      maxPods: 250,
      kubeReserved: { cpu: '100m', memory: '1843Mi' },
      evictionHard: { 'memory.available': '750Mi' },
      hasCloudProvider: true,
    })
    expect(files.get(configPath)?.mode).toBe(0o600)
  })

  it('takes from the kubelet file what no flag says', () => {
    const { kubelet: started, output } = kubelet({
      enable_kubelet_config_file: true,
      kubelet_flags: { '--kubeconfig': '/k', '--max-pods': '30' },
      kubelet_config_file_config: { max_pods: 110, kube_reserved: { cpu: '1' }, eviction_hard: {} },
    })
    expect(started).toMatchObject({ maxPods: 30, kubeReserved: { cpu: '1' }, hasCloudProvider: false })
    expect(output).toContain('--max-pods is given as a flag and in its configuration file')
  })

  it.each<[string, number, string, Json]>([
    ['another version', 240, 'version "v2"', { version: 'v2' }],
    ['no version', 240, 'version ""', { version: undefined }],
    ['a value of another type', 240, 'kubernetes_version is not a text', { kubernetes_version: 1.36 }],
    ['no Kubernetes version', 121, 'no version to install', { kubernetes_version: '' }],
    ['no binaries below 1.34', 121, 'kube_binary_config', { kubernetes_version: '1.33.4' }],
    ['no API server', 52, 'api_server_name ""', { api_server_config: {} }],
    ['an API server with a scheme', 52, 'no host name', { api_server_config: { api_server_name: 'https://c:443' } }],
    ['no CA', 51, 'kubernetes_ca_cert', { kubernetes_ca_cert: 'ca-bundle' }],
    ['neither token nor certificate', 34, 'neither a bootstrap token', { bootstrapping_config: {} }],
    [
      'a malformed token',
      34,
      'not of the form id.secret',
      { bootstrapping_config: { tls_bootstrapping_token: 'ABC.secret' } },
    ],
    [
      'secure TLS alone',
      34,
      'secure TLS bootstrapping',
      {
        bootstrapping_config: {
          bootstrapping_auth_method: 'BOOTSTRAPPING_AUTH_METHOD_SECURE_TLS_BOOTSTRAPPING',
        },
      },
    ],
    ['no kubelet at all', 34, 'KUBELET_FLAGS is empty', { kubelet_config: {} }],
  ])('with %s reports %i and starts no kubelet', (_, code, reason, changes) => {
    const { exitCode, output, kubelet: started } = boot(changes)
    expect({ exitCode, started }).toEqual({ exitCode: code, started: undefined })
    expect(output).toContain(reason)
  })

  it.each<[string, Json]>([
    ['unknown flag: --cloud-config', { kubelet_flags: { '--kubeconfig': '/k', '--cloud-config': '/etc/azure.json' } }],
    ['without --kubeconfig', { kubelet_flags: { '--max-pods': '30' } }],
    ['invalid taint', { kubelet_flags: { '--kubeconfig': '/k', '--register-with-taints': 'nonsense' } }],
    ['labels specified with --node-labels: a.kubernetes.io/x', { kubelet_node_labels: { 'a.kubernetes.io/x': 'y' } }],
  ])('has a kubelet that ends with "%s"', (reason, changes) => {
    const { exitCode, output } = kubelet(changes)
    expect([exitCode, output]).toEqual([34, expect.stringContaining(reason) as string])
  })

  it('bootstraps with a client certificate when it was given one', () => {
    const pem = (text: string) => Buffer.from(text).toString('base64')
    const { kubelet: started } = boot({
      bootstrapping_config: {},
      kubelet_config: {
        ...(config()['kubelet_config'] as Json),
        kubelet_client_key: pem('key'),
        kubelet_client_cert_content: pem('cert'),
      },
    })
    expect(started?.identity).toEqual({ kind: 'certificate', cert: 'cert', key: 'key' })
  })

  it('never says its token in what it reports', () => {
    for (const changes of [{}, { version: 'v2' }, { bootstrapping_config: { tls_bootstrapping_token: `x${token}` } }])
      expect(boot(changes).output).not.toContain(token.slice(7))
  })
})

describe('custom data', () => {
  const raw = (text: string) => Buffer.from(text).toString('base64')
  const text = JSON.stringify(config())

  it.each([
    ['c2VjcmV0', 'neither a MIME multipart document nor a script'],
    ['{}', 'not base64'],
    [raw('#cloud-boothook\necho hello\n'), 'started neither the launcher nor the unit'],
    [
      raw('#cloud-boothook\nsystemctl start --no-block aks-node-controller.service\n'),
      'did not write /opt/azure/containers/aks-node-controller-config.json',
    ],
    [
      raw(`#cloud-boothook\ncat <<EOF >${configPath}\n{"version":\nEOF\nsystemctl start aks-node-controller.service\n`),
      'not JSON',
    ],
  ])('%s ends with 240', (data, reason) => {
    const { exitCode, output } = provision(data)
    expect([exitCode, output]).toEqual([240, expect.stringContaining(reason) as string])
  })

  it('of the older form, with files in cloud-config, works as well and is reported that its mode is too open', () => {
    const document = `#cloud-config\nwrite_files:\n- path: ${configPath}\n  permissions: "0644"\n  encoding: b64\n  content: ${raw(text)}\nruncmd:\n- systemctl start --no-block aks-node-controller.service\n`
    const { exitCode, output } = provision(raw(document))
    expect([exitCode, output]).toEqual([0, `${configPath} has mode 644; it holds a token and should have mode 600`])
  })

  it.each([
    ['cat and a pipe', `(umask 077; cat <<'EOF' | base64 -d > "$FILE"\n${raw(text)}\nEOF\n)`],
    ['echo and a pipe', `echo '${raw(text)}' | base64 --decode >$FILE && chmod 600 "\${FILE}"`],
    ['a plain here-document', `umask 0077\ncat > "$FILE" <<-'EOF'\n\t${text}\n\tEOF`],
  ])('can write its file with %s', (_, lines) => {
    const script = `#cloud-boothook\nFILE=${configPath}\n${lines}\nsystemctl start --no-block aks-node-controller.service\n`
    expect(provision(raw(script))).toMatchObject({ exitCode: 0, output: '' })
  })
})

it('a boothook has the effects that a real shell gives it', async () => {
  const root = mkdtempSync(join(tmpdir(), 'joiner-boothook-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const folder = `${root}/opt/azure/containers`
  const started = join(root, 'started')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'aks-node-controller-launcher.sh'), `echo launcher > ${started}\n`)
  const document = Buffer.from(cloudInitDocument(config()), 'base64').toString()
  const boothook = (/text\/cloud-boothook[\s\S]*?\r\n\r\n([\s\S]*?)\r\n--/.exec(document)?.[1] ?? '').replaceAll(
    /\/(opt|var)\//g,
    `${root}/$1/`,
  )
  writeFileSync(join(root, 'hook'), boothook)
  execFileSync('bash', [join(root, 'hook')], { env: { PATH: process.env['PATH'] } })
  chmodSync(root, 0o700)
  const launcher = `${folder}/aks-node-controller-launcher.sh`
  const files = new Map([[launcher, { content: '', mode: 0o755 }]])
  const outcome = runScript(boothook, files)

  expect(outcome).toEqual({ started: [launcher], problems: [] })
  const written = `${root}${configPath}`
  expect(files.get(written)).toEqual({
    content: readFileSync(written, 'utf8'),
    mode: statSync(written).mode & 0o777,
  })
  await expect.poll(() => existsSync(started)).toBe(true)
})
