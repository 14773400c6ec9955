// What becomes of a node when one byte of its configuration is another.
import { X509Certificate } from 'node:crypto'
import type { MadeVm } from '../../../deploy/local/azure/admin/admin.ts'
import { configPath, firstBoot } from '../../../deploy/local/azure/boot/custom-data.ts'
import type { Operator } from '../../../deploy/local/operator.ts'
import type { Fleet, Node } from '../../../deploy/local/real-nodes/fleet.ts'
import { until } from '../../../deploy/local/real-nodes/until.ts'
import { differences } from './compare.ts'

interface Change {
  readonly change: (config: string) => string
  /** What the kubelet says that does not join. */
  readonly refused?: RegExp
  /** Fields in which the Node is another. */
  readonly differs?: readonly string[]
}

/** The byte before the end of what a pattern finds, as another one of its kind. */
function otherByte(pattern: RegExp): (config: string) => string {
  return (config) => {
    const found = pattern.exec(config)
    if (found === null) throw new Error(`the node configuration has no ${pattern.source}`)
    const at = found.index + found[0].length - 1
    const byte = config[at] ?? ''
    const other = /\d/.test(byte) ? String((Number(byte) + 1) % 10) : byte === 'z' ? 'y' : 'z'
    return config.slice(0, at) + other + config.slice(at + 1)
  }
}

/** A byte of the public key, which nothing that the authority has signed fits then. */
function otherKey(config: string): string {
  const [, given = ''] = /"kubernetes_ca_cert":"([^"]+)"/.exec(config) ?? []
  const certificate = new X509Certificate(Buffer.from(given, 'base64'))
  const der = Buffer.from(certificate.raw)
  const key = certificate.publicKey.export({ type: 'spki', format: 'der' })
  const at = der.indexOf(key) + key.length - 1
  der[at] = (der[at] ?? 0) ^ 1
  const lines = der.toString('base64').replaceAll(/.{64}/g, '$&\n').trim()
  const pem = `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
  return config.replace(given, Buffer.from(pem).toString('base64'))
}

const label = 'example.com/team'

const changes: Readonly<Record<string, Change>> = {
  none: { change: (config) => config, differs: [] },
  token: { change: otherByte(/"tls_bootstrapping_token":"[^"]+/), refused: /Unauthorized/ },
  ca: {
    change: otherKey,
    refused: /certificate signed by unknown authority|failed to parse|unable to load root cert/i,
  },
  label: { change: otherByte(new RegExp(`"${label}":"[^"]+`)), differs: [`label ${label}`] },
  pods: { change: otherByte(/"--max-pods":"\d+/), differs: ['allocatable pods', 'capacity pods'] },
}

/** A VM whose configuration is another. */
function changed(made: MadeVm, change: Change['change']): MadeVm {
  const { body } = made
  const { osProfile } = body.properties
  const given = osProfile?.customData ?? ''
  const config = firstBoot(given).files.get(configPath)?.content ?? ''
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const document = Buffer.from(given, 'base64')
    .toString()
    .replace(base64(config), base64(change(config)))
  const properties = { ...body.properties, osProfile: { ...osProfile, customData: base64(document) } }
  return { ...made, body: { ...body, properties } }
}

/**
 * Boots a VM that no fleet has booted once for each change of one byte, and once without. Returns a row for each: what was changed, and what became of
 * it. Errors: a node joins that must not, does not join that must, or differs in another way.
 */
export async function proveTampering(
  { operator, fleet }: { readonly operator: Operator; readonly fleet: Fleet },
  [name, made]: readonly [string, MadeVm],
): Promise<readonly (readonly [string, string])[]> {
  const nameOf = (what: string) => `${name}-${what}`
  const nodeOf = (what: string) => operator.api<Node>('GET', `/api/v1/nodes/${nameOf(what)}`).catch(() => undefined)
  for (const [index, [what, { change }]] of Object.entries(changes).entries()) {
    const vm = { ...changed(made, change), addresses: [`10.224.250.${index + 4}`] }
    await fleet.boot(nameOf(what), vm)
  }
  const rows: (readonly [string, string])[] = []
  const joining = Object.entries(changes).filter(([, { differs }]) => differs !== undefined)
  for (const [what, { differs = [] }] of joining) {
    await until(`${nameOf(what)} registers its Node`, 60_000, async () => (await nodeOf(what)) !== undefined)
    const node = await nodeOf(what)
    if (node === undefined || made.node === undefined) throw new Error(`${nameOf(what)} is gone`)
    const found = differences({ registered: node, node }, made.node)
      .filter(({ field, why }) => why === undefined && !field.startsWith('spec.') && !isOfAks(field))
      .map(({ field }) => field)
    const wanted = ['label kubernetes.io/hostname', ...differs].toSorted()
    if (String(found) !== String(wanted))
      throw new Error(`${nameOf(what)}: differs in ${String(found)}, not in ${String(wanted)}`)
    rows.push([what, differs.length === 0 ? 'joins' : `joins; its Node differs in ${differs.join(' and ')} alone`])
  }
  for (const [what, { refused }] of Object.entries(changes)) {
    if (refused === undefined) continue
    const log = () => fleet.machines.get(nameOf(what))?.log() ?? Promise.resolve('')
    await until(`the kubelet of ${nameOf(what)} says why it does not join`, 60_000, async () =>
      refused.test(await log()),
    )
    if ((await nodeOf(what)) !== undefined) throw new Error(`${nameOf(what)} has joined with another ${what}`)
    rows.push([what, `does not join: ${refused.exec(await log())?.[0]}`])
  }
  for (const what of Object.keys(changes)) await fleet.powerOff(nameOf(what))
  await operator.kubectl(['delete', 'node', ...joining.map(([what]) => nameOf(what))])
  return rows
}

/** What Azure's cloud provider has set on other Nodes, and nobody on these. */
const isOfAks = (field: string) => /instance-type|failure-domain|topology/.test(field)
