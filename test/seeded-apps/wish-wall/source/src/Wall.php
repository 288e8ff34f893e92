<?php

function pin(string $wish, string $guest): void
{
    error_log("[info] wish by $guest: $wish");
    if (strlen($wish) > 4000) {
        error_log("[warning] wish refused: too long");
    } elseif (is_spam($wish)) {
        error_log("[error] wish refused: spam");
    } else {
        store($wish);
    }
}
