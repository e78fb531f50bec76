// SPDX-License-Identifier: MIT
// TensorBoard's frame gives way to the page, which has a document and a policy of its own.
export function render() {
  location.replace('index.html');
}
