import { describe, expect, it } from 'vitest'
import { nodeImageVersion } from './node-image-version.ts'

const image = (change: readonly [from: string, to: string] = ['', '']) =>
  '/subscriptions/s/resourceGroups/AKS-Ubuntu/providers/Microsoft.Compute/galleries/AKSUbuntu/images/2204gen2containerd/versions/2022.10.03'.replace(
    ...change,
  )
const named = 'AKSUbuntu-2204gen2containerd-2022.10.03'

describe('a node image, as AKS machines name it', () => {
  it.each([
    ['a shared gallery', image(), named],
    [
      'a community gallery',
      '/CommunityGalleries/AKSUbuntu-38d80f77/images/2204gen2containerd/versions/1',
      'AKSUbuntu-2204gen2containerd-1',
    ],
    [
      'names with dashes and underscores',
      image(['2204gen2containerd', 'test-image_name']),
      'AKSUbuntu-test-image_name-2022.10.03',
    ],
    [
      'the shortest names',
      '/subscriptions/a/resourceGroups/b/providers/Microsoft.Compute/galleries/c/images/d/versions/e',
      'c-d-e',
    ],
    [
      'an id in capitals',
      image(['galleries', 'GALLERIES']).replace('/images/', '/IMAGES/').replace('/versions/', '/VERSIONS/'),
      named,
    ],
    [
      'capitals where Azure heeds no case',
      image(['/subscriptions/', '/SUBSCRIPTIONS/']).replace('Microsoft.Compute', 'MICROSOFT.COMPUTE'),
      named,
    ],
    ['such a name already', named, named],
  ])('of %s', (_what, id, expected) => {
    expect(nodeImageVersion(id)).toBe(expected)
  })

  it.each([
    '',
    '/subscriptions/s/resourceGroups/g',
    image(['galleries', 'gallery']),
    image(['images', 'image']),
    image(['versions', 'version']),
    image(['/2022.10.03', '']),
    image(['2022.10.03', '2022.10.03/']),
    `${image()}/extra`,
    `${image()}/extra/components`,
  ])('is not made of %j, which stays for AKS to refuse', (id) => {
    expect(nodeImageVersion(id)).toBe(id)
  })
})
