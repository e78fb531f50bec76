// SPDX-License-Identifier: MIT
//
// Put behind Debian's CustomElements.js, this stands in for the web components polyfill that the
// plugin's trace viewer asks the internet for: the page's one HTML import is written into it.
'use strict';
(() => {
    Object.defineProperty(document, '_currentScript', { get: () => document.currentScript });
    // Only dialogs ask for one; they work as well without.
    Element.prototype.createShadowRoot = function () { return this; };
    const request = new XMLHttpRequest();
    request.open('GET', 'trace_viewer_full.html', false);
    request.send();
    document.write(request.responseText);
})();
