<?php
burn(PART); // in a file of its own
