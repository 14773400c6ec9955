// `joiner doctor`: settings that name what is not there, and an installation that is not whole.
import { expect, test } from 'vitest'
import { azureIds, subnetId } from '../../deploy/local/cluster.ts'
import { Doctor } from './doctor.ts'
import type { Prepared } from './prepared.ts'

/** At the end nothing of Joiner runs, and parts of the installation are missing. */
export function doctorOfInstallation(prepared: () => Prepared): void {
  const world = () => prepared().world
  const doctor = new Doctor(prepared)

  test('an identity that Azure does not know: a process is not ready, and its log says what to do', async () => {
    const stranger = '00000000-0000-4000-8000-00000000000f'
    world().startJoiner('stranger', { AZURE_CLIENT_ID: stranger, JOINER_CONVERSION_PORT: '0' })
    const log = await world().until('the log says', async () => {
      const lines = await world().cluster.supervisor.tail('stranger', 50)
      return lines.includes('Azure gave no access token') ? lines : undefined
    })
    expect(log).toContain('AADSTS700016')
    expect(log).toContain(`no identity has the client id`)
    const { origin } = new URL(/"address":"([^"]+)"/.exec(log)?.[1] ?? '')
    const answer = await fetch(`${origin}/readyz`)
    expect(answer.status).toBe(503)
    expect(await answer.text()).toContain('an access token of Azure')
    await world().crash('stranger')
  })

  test('settings that name what is not there: identity, subnet, Temporal', async () => {
    const stranger = '00000000-0000-4000-8000-00000000000f'
    const { of, bad } = await doctor.examined({ AZURE_CLIENT_ID: stranger, TEMPORAL_ADDRESS: '127.0.0.1:1' })
    expect(bad).toEqual([
      'identity',
      'azure reads',
      'azure roles',
      'subnet',
      'quota',
      'images',
      'instances',
      'aks machines',
      'temporal',
      'workflows',
      'installation',
    ])
    expect(of('identity').remedies[0]).toContain(`no identity has the client id "${stranger}"`)
    expect(of('subnet').summary).toBe('not looked at: Azure gave no token')
    expect(of('temporal').remedies[0]).toContain(
      'check --temporal-address, else TEMPORAL_ADDRESS (chart: temporal.address)',
    )
    const wrong = await doctor.examined({ VNET_SUBNET_ID: `${subnetId}-old` })
    expect(wrong.bad).toEqual(['subnet'])
    expect(wrong.of('subnet').remedies[0]).toContain(
      `az network vnet subnet list --resource-group ${azureIds.nodeResourceGroup}`,
    )
  })

  test('settings that are no settings end with 2, each with its remedy', async () => {
    const { code, stderr } = await doctor.run([], { NETWORK_PLUGIN: 'kubenet', CLUSTER_NAME: '' })
    expect(code).toBe(2)
    expect(stderr).toContain('NETWORK_PLUGIN "kubenet": is not supported, since kubenet needs a route for each node')
    expect(stderr).toContain('CLUSTER_NAME "": is empty')
  })

  test('v1beta1 of NodeClaims that a client wrote, and that may be stored, while it is not served', async () => {
    const path = '/apis/karpenter.sh/v1beta1/nodeclaims'
    const claim = {
      apiVersion: 'karpenter.sh/v1beta1',
      kind: 'NodeClaim',
      metadata: { name: 'foreign' },
      spec: { nodeClassRef: { apiVersion: 'example.com/v1', kind: 'OtherClass', name: 'other' }, requirements: [] },
    }
    await world().installation.applyRights({ 'conversion.nodeClaims.serveV1beta1': true })
    await world().until('it is served', () => world().operator.api('POST', `${path}?fieldManager=old-tool`, claim))
    const healthy = await doctor.examined()
    expect(healthy.bad).toEqual([])
    expect(healthy.of('conversion webhook').summary).toBe('a NodePool and a NodeClaim of v1beta1 would be stored as v1')
    expect(healthy.stdout).toContain('nodeclaims.karpenter.sh: v1, v1beta1 served')

    await world().installation.applyRights()
    await world().until('it is not served', () =>
      world()
        .operator.api('GET', path)
        .then(
          () => false,
          () => true,
        ),
    )
    const crd = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodeclaims.karpenter.sh'
    await world().operator.api('PATCH', `${crd}/status`, { status: { storedVersions: ['v1', 'v1beta1'] } })
    const { code, of, bad } = await doctor.examinedOnceStored()
    expect([code, bad], JSON.stringify(of('custom resources'))).toEqual([0, ['custom resources']])
    const { summary, details, remedies } = of('custom resources')
    const said = [summary, ...details].join('\n')
    expect(said).toContain('nodeclaims.karpenter.sh: status.storedVersions has "v1beta1", which is not served')
    expect(said).toMatch(
      /NodeClaim foreign: metadata.managedFields has apiVersion "karpenter.sh\/v1beta1" of manager "old-tool" at 20/,
    )
    expect(remedies.join('\n')).toContain('--set conversion.nodeClaims.serveV1beta1=true')

    await world().operator.api('PATCH', `${crd}/status`, { status: { storedVersions: ['v1'] } })
    await world().operator.kubectl(['delete', 'nodeclaim', 'foreign'])
    expect((await doctor.examinedOnceStored()).bad).toEqual([])
  })

  test('CRDs of another version, rights that were taken away, and nobody who converts', async () => {
    const crd = 'nodeoverlays.karpenter.sh'
    const field = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/weight'
    await world().operator.kubectl([
      'patch',
      'crd',
      crd,
      '--type=json',
      '-p',
      JSON.stringify([{ op: 'remove', path: field }]),
    ])
    await world().operator.kubectl(['delete', 'crd', 'capacitybuffers.autoscaling.x-k8s.io'])
    await world().operator.kubectl(['delete', 'rolebinding', 'joiner-core', '--namespace', 'joiner'])
    await world().crash()
    const look = async () => {
      const found = await doctor.examined()
      // What the API server says of its schemas lags behind a changed CRD.
      const { summary, details } = found.of('custom resources')
      return `${summary} ${details.join()}`.includes('spec.weight') ? found : undefined
    }
    const { of, bad } = await world().until('the changed CRD is published', look)
    expect(bad).toEqual(['custom resources', 'kubernetes rights', 'conversion webhook'])
    const resources = of('custom resources')
    expect(`${resources.summary} ${resources.details.join()}`).toContain(
      'capacitybuffers.autoscaling.x-k8s.io is not installed',
    )
    expect(resources.remedies[0]).toContain('kubectl apply --server-side --force-conflicts -f deploy/crds')
    expect(of('kubernetes rights').details).toContain('patch configmaps joiner-pauses in joiner')
    expect(of('kubernetes rights').remedies[0]).toContain('helm upgrade --install joiner')
    expect(of('conversion webhook').remedies.join('\n')).toContain(
      'kubectl rollout restart --namespace joiner deployment/joiner-conversion',
    )
  })

  test('the help says what it needs and what its exit codes mean', async () => {
    const { code, stdout } = await doctor.run(['--help'])
    expect(code).toBe(0)
    for (const said of ['--output', '--env-file', '--service-account', 'Exit code: 0', 'kubectl exec'])
      expect(stdout).toContain(said)
  })
}
